import { z } from '#kernel'
import { countRows, defineEffect, type Store } from '#platform/store/contract'
import { addToValue } from '#platform/store/statements'

/** Namespace of the counts among the plugin values. */
const NAMESPACE = 'metrics'
/** Prefix of the keys of counts. Several processes add to the same row. */
const COUNTS = 'count/'
/** Row with the totals of all events, as JSON. */
export const EVENT_TOTALS = { namespace: NAMESPACE, key: 'events' }

/** Adds to counts. */
export const addCounts = defineEffect({
  name: 'metrics.add',
  schema: z.object({ counts: z.record(z.string(), z.int().min(0)) }),
  statements: ({ counts }) =>
    Object.entries(counts).map(([key, more]) => addToValue({ namespace: NAMESPACE, key: `${COUNTS}${key}` }, more)),
})

export async function readCounts(store: Store): Promise<Record<string, number>> {
  const rows = await store.all<{ key: string; value: string }>(
    'SELECT key, value FROM plugin_values_view WHERE namespace = ? AND key LIKE ?',
    [NAMESPACE, `${COUNTS}%`],
  )
  return Object.fromEntries(rows.map(({ key, value }) => [key.slice(COUNTS.length), Number(value)]))
}

/** Returns events after `seq`, oldest first, with data only for these types. */
export function eventsAfter(store: Store, seq: number, types: readonly string[], limit: number) {
  return store.all<{ seq: number; type: string; data: string | null }>(
    `SELECT seq, type, CASE WHEN type IN (${types.map(() => '?').join(', ')}) THEN data END AS data
     FROM events_view WHERE seq > ? ORDER BY seq LIMIT ?`,
    [...types, seq, limit],
  )
}

export function countPendingApprovals(store: Store): Promise<number> {
  return countRows(store, "FROM approvals_view WHERE status = 'pending'")
}
