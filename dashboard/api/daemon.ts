import { api } from './client.ts'
import { ofKinds, useQuery } from './query.ts'

/** Whether a daemon runs, its state, and whether it is frozen: shown in the head; the fleet refreshes by it. */
export const useDaemon = () =>
  useQuery('daemon', { ask: () => api.daemon.status(), on: ofKinds('daemon_', 'config_changed', 'status_changed') })

/** Seconds between two heartbeats of agents at rest; undefined while no daemon drives them. */
export function useHeartbeat(): number | undefined {
  const { health, frozen, heartbeat_s } = useDaemon().data ?? {}
  return health === 'healthy' && !frozen ? heartbeat_s : undefined
}
