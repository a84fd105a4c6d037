import type { Store } from '#platform/store/contract'

/** The ids of agents that live, at most so many of them. */
export async function liveAgents(store: Store, most: number): Promise<string[]> {
  const rows = await store.all<{ agent_id: string }>('SELECT agent_id FROM agents WHERE died_at IS NULL LIMIT ?', [
    most,
  ])
  return rows.map(({ agent_id }) => agent_id)
}
