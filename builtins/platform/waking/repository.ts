import { AMONG, jsonList, type Store } from '#platform/store/contract'

/** Returns whether all of these are ids of stored messages. */
export async function areNudges(store: Store, ids: readonly string[]): Promise<boolean> {
  const row = await store.get<{ n: number }>(`SELECT count(*) AS n FROM nudges_view WHERE nudge_id ${AMONG}`, [
    jsonList(ids),
  ])
  return row?.n === ids.length
}
