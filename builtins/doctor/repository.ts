import type { Store } from '../store/contract.ts'

/** About how many events there are. Counting them would read them all. */
export async function eventCount(store: Store): Promise<number> {
  const row = await store.get<{ n: number }>('SELECT coalesce(max(seq) - min(seq) + 1, 0) AS n FROM events')
  return row?.n ?? 0
}
