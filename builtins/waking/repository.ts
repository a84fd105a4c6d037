import type { Store } from '../store/contract.ts'

/** Parameters of one statement. */
const AT_ONCE = 500

/** Whether all of these are ids of messages that are stored. */
export async function areNudges(store: Store, ids: readonly string[]): Promise<boolean> {
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE)
    const row = await store.get<{ n: number }>(
      `SELECT count(*) AS n FROM nudges WHERE nudge_id IN (${some.map(() => '?').join(', ')})`,
      some,
    )
    if (row?.n !== some.length) return false
  }
  return true
}
