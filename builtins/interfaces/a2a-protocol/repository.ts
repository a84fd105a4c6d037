import type { Store } from '#platform/store/contract'

/** Returns the ids of live agents, up to a limit. */
export async function liveAgents(store: Store, most: number): Promise<string[]> {
  const rows = await store.all<{ agent_id: string }>('SELECT agent_id FROM agents_view WHERE died_at IS NULL LIMIT ?', [
    most,
  ])
  return rows.map(({ agent_id }) => agent_id)
}
