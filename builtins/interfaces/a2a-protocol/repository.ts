import { listColumn, type Store } from '#platform/store/contract'

/** Returns the ids of live agents, up to a limit. */
export function liveAgents(store: Store, most: number): Promise<string[]> {
  return listColumn(store, 'SELECT agent_id FROM agents_view WHERE died_at IS NULL LIMIT ?', [most])
}
