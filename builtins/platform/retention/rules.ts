import { type PluginHandle, point, z } from '#kernel'
import { AMONG, defineEffect, Effects, jsonList, type Statement, Store } from '#platform/store/contract'

/**
 * What of a module's data may be removed, or has to be ended, after some time. A rule never touches what is pending,
 * running or active.
 */
export interface RetentionRule {
  /** What is counted, as in `nudges`. */
  name: string
  /** Order of rules, lowest first: those that end things before those that remove them, rows before their parents. */
  stage?: number
  /** Milliseconds for which they are kept; `retention.days` by default. */
  kept_ms?(): number
  /** How many there are to do. `before`: milliseconds; what is older is meant. */
  count(before: number): Promise<number>
  /** Does at most `limit` of them, in one short transaction. @returns how many; fewer than `limit` means that none is left */
  piece(before: number, limit: number): Promise<number>
}
export const RetentionRules = point<RetentionRule>('retention_rules', {
  key: rule => rule.name,
  has: { name: 'text', count: 'function', piece: 'function' },
})

/** Rows of one table that may go when they are old. */
export interface AgedRows {
  /** The table. */
  name: string
  /** Its primary key. */
  key: string
  /** A condition in SQL; each `?` in it is the time before which. */
  where: string
  stage?: number
  /** What goes with them. */
  also?: (keys: readonly string[]) => Statement[]
}

/** Lets a table's old rows go: selects a piece of them, and removes it by its keys. */
export function addRetentionRule(svc: PluginHandle, { name, key, where, stage, also }: AgedRows): void {
  const remove = defineEffect({
    name: `retention.${name}`,
    schema: Keys,
    statements: ({ keys }) => [
      ...(also?.(keys.map(String)) ?? []),
      {
        sql: `DELETE FROM ${name} WHERE ${key} ${keys.every(isNumber) ? AMONG_NUMBERS : AMONG}`,
        params: [jsonList(keys)],
      },
    ],
  })
  svc.add(Effects, remove.kind)
  const times = where.split('?').length - 1
  const old = (before: number) => Array.from({ length: times }, () => before)
  svc.add(RetentionRules, {
    name,
    ...(stage === undefined ? {} : { stage }),
    async count(before) {
      const row = await svc
        .use(Store)
        .get<{ n: number }>(`SELECT count(*) AS n FROM ${name} WHERE ${where}`, old(before))
      return row?.n ?? 0
    },
    async piece(before, limit) {
      const store = svc.use(Store)
      const params = [...old(before), limit]
      const rows = await store.all<{ key: z.infer<typeof Key> }>(
        `SELECT ${key} AS key FROM ${name} WHERE ${where} LIMIT ?`,
        params,
      )
      if (rows.length > 0) await store.apply([remove({ keys: rows.map(row => row.key) })])
      return rows.length
    },
  })
}

const AMONG_NUMBERS = 'IN (SELECT CAST(value AS BIGINT) FROM json_each(?))'

const isNumber = (key: unknown) => typeof key === 'number'

const Key = z.union([z.string(), z.number().int()])

const Keys = z.object({ keys: z.array(Key) })
