import { api } from './client.ts'
import { ofKinds, useQuery } from './query.ts'

/** Returns the daemon's status: whether it runs, its health, and whether it is frozen. */
export const useDaemon = () =>
  useQuery('daemon', { ask: () => api.daemon.status(), on: ofKinds('daemon_', 'config_changed', 'status_changed') })

/** Returns the seconds between two heartbeats of idle agents; undefined while no daemon runs them. */
export function useHeartbeat(): number | undefined {
  const { health, frozen, heartbeat_s } = useDaemon().data ?? {}
  return health === 'healthy' && !frozen ? heartbeat_s : undefined
}
