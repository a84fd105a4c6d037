import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'better-sqlite3'

const DAY_MS = 86_400_000
/** Age from which rows are dated back, in milliseconds. */
export const YOUNG_MS = 60_000
/** Number of rows per statement: other processes write in between. */
const ROWS = 500
/**
 * Frames of the write-ahead log above which this waits while a reader keeps the log from being reset: real aging writes
 * nothing.
 */
const LONG_LOG = 1_200

/**
 * Columns with the time at which something ended. The stamps' calls stay in the journal, to be compared with the
 * stamps.
 */
const DATES: readonly (readonly [table: string, column: string, and?: string])[] = [
  ['events', 'at'],
  ['nudges', 'delivered_at'],
  ['spend', 'at', 'budget_window > 0'],
  ['tool_calls', 'ended_at', "tool <> 'stamp'"],
  // An approval that was granted and not used may still be used, and is compared with that call.
  ['approvals', 'resolved_at', `(status = 'denied' OR used_at < unixepoch() * 1000 - ${YOUNG_MS})`],
  ['task_runs', 'ended_at'],
  ['sessions', 'last_active'],
  ['sessions', 'completed_at'],
  ['a2a_messages', 'created_at'],
  ['delegations', 'ended_at'],
  ['suffering_history', 'at'],
  ['alarms', 'told_at'],
]

/** Dates rows that are a minute old back by two days, so that retention has the work of weeks within half an hour. */
export async function age(db: Sqlite.Database, until: AbortSignal): Promise<number> {
  let aged = 0
  const statements = DATES.map(([table, column, and = '1']) =>
    db.prepare(`UPDATE ${table} SET ${column} = ${column} - ${2 * DAY_MS} WHERE rowid IN
      (SELECT rowid FROM ${table} WHERE ${column} > ? AND ${column} < ? AND ${and} LIMIT ${ROWS})`),
  )
  const isLong = () => {
    const [{ log, checkpointed }] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }]
    return log > LONG_LOG && checkpointed < log
  }
  while (!until.aborted) {
    for (const statement of statements) {
      const now = Date.now()
      while (!until.aborted) {
        for (; isLong() && !until.aborted; await sleep(50)) db.pragma('wal_checkpoint(PASSIVE)')
        const { changes } = statement.run(now - DAY_MS, now - YOUNG_MS)
        aged += changes
        if (changes < ROWS) break
        await sleep(50)
      }
    }
    await sleep(1_000, undefined, { signal: until }).catch(() => {})
  }
  return aged
}
