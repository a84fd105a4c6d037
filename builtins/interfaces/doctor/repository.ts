import { countRows, type Store } from '#platform/store/contract'

/** Returns the number of events. Counting reads them all, so it is done only where there may be more than the limit. */
export async function eventCount(store: Store, many: number): Promise<number> {
  const most = await store.get<{ n: number }>('SELECT coalesce(max(seq) - min(seq) + 1, 0) AS n FROM events_view')
  if (!most || most.n <= many) return most?.n ?? 0
  return countRows(store, 'FROM events_view')
}

/** Returns unpaused agents whose last cycles failed, the one with the most failures first. */
export function failingAgents(store: Store): Promise<{ agent_id: string; failures: number; error: string }[]> {
  return store.all(`SELECT agent_id, failures, error FROM agents_view
    WHERE failures > 0 AND died_at IS NULL AND paused_at IS NULL ORDER BY failures DESC, spawned_at, agent_id`)
}
