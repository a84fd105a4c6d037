import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'better-sqlite3'

const DAY_MS = 86_400_000
/** What is older than this is dated back, in milliseconds. */
export const YOUNG_MS = 60_000
/** Rows of one statement: others write meanwhile. */
const ROWS = 500
/** Frames of a write-ahead log that a reader keeps from being put back: time itself would write none. */
const LONG_LOG = 1_200

/** Where it stands when something came to its end. What the stamps have left in the journal stays, to be compared with them. */
const DATES: readonly (readonly [table: string, column: string, and?: string])[] = [
  ['events', 'at'],
  ['nudges', 'delivered_at'],
  ['spend', 'at', 'budget_window > 0'],
  ['tool_calls', 'ended_at', "tool <> 'stamp'"],
  // One that is given and not used yet may be used at any time, and is compared with that call.
  ['approvals', 'resolved_at', `(status = 'denied' OR used_at < unixepoch() * 1000 - ${YOUNG_MS})`],
  ['task_runs', 'ended_at'],
  ['sessions', 'last_active'],
  ['sessions', 'completed_at'],
  ['a2a_messages', 'created_at'],
  ['delegations', 'ended_at'],
  ['suffering_history', 'at'],
  ['alarms', 'told_at'],
]

/** Makes a minute of what it was two days ago, so that within half an hour retention has the work of weeks. */
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
