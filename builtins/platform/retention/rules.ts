import { type PluginHandle, point, z } from '#kernel'
import {
  AMONG,
  type Condition,
  countRows,
  defineEffect,
  Effects,
  jsonList,
  type Statement,
  Store,
} from '#platform/store/contract'

/**
 * Data of a module that is removed, or ended, after some time. A rule never affects pending, running or active data.
 */
export interface RetentionRule {
  /** Name of what is counted, such as `nudges`. */
  name: string
  /** Order of rules, lowest first: those that end things before those that remove them, rows before their parents. */
  stage?: number
  /** Whether the daemon applies the rule even if retention is disabled. Default: no. */
  always?: boolean
  /** Returns how long the data is kept, in milliseconds. Default: `retention.days`. */
  kept_ms?(): number
  /** Returns the number of entries older than `before`, in milliseconds. */
  count(before: number): Promise<number>
  /**
   * Processes at most `limit` entries, in one short transaction.
   * @returns their number; fewer than `limit` means that none is left
   */
  piece(before: number, limit: number): Promise<number>
}
export const RetentionRules = point<RetentionRule>('retention_rules', {
  key: rule => rule.name,
  has: { name: 'text', count: 'function', piece: 'function' },
})

/** Rows of one table that may be removed when they are old. */
export interface AgedRows {
  /** The table. */
  name: string
  /** Its primary key. */
  key: string
  /** SQL condition for old rows, in which each `?` stands for the time limit. */
  where: string
  stage?: number
  /** Returns statements that remove related rows. */
  also?: (keys: readonly string[]) => Statement[]
  /** Returns a condition for rows that become removable when the rules before this one have run, for dry runs. */
  later?: (before: number) => Condition
}

/** Adds a rule that removes a table's old rows: selects some of them, and deletes them by key. */
export function addRetentionRule(svc: PluginHandle, { name, key, where, stage, also, later }: AgedRows): void {
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
    count(before) {
      const more = later?.(before)
      return countRows(svc.use(Store), `FROM ${name} WHERE (${where})${more ? ` OR (${more.where})` : ''}`, [
        ...old(before),
        ...(more?.params ?? []),
      ])
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

const Key = z.union([z.string(), z.int()])

const Keys = z.object({ keys: z.array(Key) })
