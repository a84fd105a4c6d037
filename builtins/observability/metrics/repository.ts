import { z } from '#kernel'
import { defineEffect, type Store } from '#platform/store/contract'

/** What is counted lies among the plugins' values. */
const NAMESPACE = 'metrics'
/** One row for each count that is added to from several processes. */
const COUNTS = 'count/'
/** The key of what was added up of the events, as JSON. */
export const EVENT_TOTALS = { namespace: NAMESPACE, key: 'events' }

/** Adds to counts. Each number is cast: SQLite takes a parameter for one with a fraction, and would write `8.0`. */
export const addCounts = defineEffect({
  name: 'metrics.add',
  schema: z.object({ counts: z.record(z.string(), z.number().int().min(0)) }),
  statements: ({ counts }) =>
    Object.entries(counts).map(([key, more]) => ({
      sql: `INSERT INTO plugin_values (namespace, key, value) VALUES (?, ?, ?) ON CONFLICT (namespace, key)
            DO UPDATE SET value = CAST(CAST(CAST(plugin_values.value AS DOUBLE PRECISION) AS BIGINT) + CAST(? AS BIGINT) AS TEXT)`,
      params: [NAMESPACE, `${COUNTS}${key}`, String(more), more],
    })),
})

export async function readCounts(store: Store): Promise<Record<string, number>> {
  const rows = await store.all<{ key: string; value: string }>(
    'SELECT key, value FROM plugin_values WHERE namespace = ? AND key LIKE ?',
    [NAMESPACE, `${COUNTS}%`],
  )
  return Object.fromEntries(rows.map(({ key, value }) => [key.slice(COUNTS.length), Number(value)]))
}

/** Events after `seq`, oldest first; the data only of these types. */
export function eventsAfter(store: Store, seq: number, types: readonly string[], limit: number) {
  return store.all<{ seq: number; type: string; data: string | null }>(
    `SELECT seq, type, CASE WHEN type IN (${types.map(() => '?').join(', ')}) THEN data END AS data
     FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
    [...types, seq, limit],
  )
}

export async function countPendingApprovals(store: Store): Promise<number> {
  const row = await store.get<{ n: number }>("SELECT count(*) AS n FROM approvals WHERE status = 'pending'")
  return row?.n ?? 0
}
