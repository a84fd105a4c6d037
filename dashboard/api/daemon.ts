import { api } from './client.ts'
import { ofKinds, useQuery } from './query.ts'

/** Whether a daemon runs, how it fares, and whether it is frozen: the head tells it, and the fleet wakes by it. */
export const useDaemon = () =>
  useQuery('daemon', { ask: () => api.daemon.status(), on: ofKinds('daemon_'), every: 5_000 })
