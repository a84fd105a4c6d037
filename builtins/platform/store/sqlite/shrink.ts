import type { Clock, Ports } from '#kernel'
import { withoutRecording } from '#lib/recording-context'
import type { Database } from './database.ts'

/** Number of pages freed at a time, which takes some milliseconds. */
const PAGES = 64
/** Number of free pages left for the next rows. */
const SPARE_PAGES = 256
/** Size above which the file of the write-ahead log is truncated, in bytes; it was then long for once. */
const LARGE_LOG = 16 * 1024 * 1024

/** Factor over SQLite's own checkpoint limit from which a log counts as long. */
const LONG_LOG = 1.2
/** Maximum wait for a shorter log, in milliseconds; a reader that is still there will probably stay longer. */
const PATIENCE_MS = 10_000
const LOOK_MS = 50

/** Value of `PRAGMA auto_vacuum` of a file whose free pages can be released one by one. */
const INCREMENTAL = 2

/** Releases free pages, a few at a time. @returns the number of bytes */
export async function shrink(database: Database, clock: Clock, signal: AbortSignal): Promise<number> {
  const free = () => database.waiting(() => database.pragma('freelist_count'))
  if (database.pragma('auto_vacuum') !== INCREMENTAL) return 0
  const before = await free()
  let left = before
  while (left > SPARE_PAGES && !signal.aborted) {
    await database.waiting(() => database.script(`PRAGMA incremental_vacuum(${Math.min(PAGES, left - SPARE_PAGES)})`))
    const now = await free()
    if (now >= left) break
    left = now
    await shortLog(database, clock, signal)
    await clock.yield()
  }
  return Math.max(0, before - left) * database.pragma('page_size')
}

/** Checkpoints a large write-ahead log into the file and truncates it. It never waits for a reader. */
export async function trimLog(database: Database, files: Ports['files']): Promise<void> {
  const size = await files.stat(`${database.file}-wal`).then(
    stat => stat.size,
    () => 0,
  )
  if (size > LARGE_LOG) await database.waiting(() => database.script('PRAGMA wal_checkpoint(TRUNCATE)'))
}

/**
 * Waits while readers prevent a checkpoint of a long write-ahead log, at most 10 s or until the signal is aborted. The
 * wait is not recorded, because its length depends on other readers.
 */
export async function shortLog(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const log = (how: 'NOOP' | 'PASSIVE') =>
    database.waiting(() => database.get<{ log: number; checkpointed: number }>(`PRAGMA wal_checkpoint(${how})`)!)
  const isLong = async () => {
    // Only reads the state: https://sqlite.org/pragma.html#pragma_wal_checkpoint
    if ((await log('NOOP')).log <= database.pragma('wal_autocheckpoint') * LONG_LOG) return false
    const { log: frames, checkpointed } = await log('PASSIVE')
    return checkpointed < frames
  }
  await withoutRecording(async () => {
    for (let waited = 0; waited < PATIENCE_MS && !signal.aborted && (await isLong()); waited += LOOK_MS)
      await clock.sleep(LOOK_MS, signal)
  })
}

/** Rewrites files of early versions, which never release the space of removed rows, once during their migration. */
export async function makeShrinkable(database: Database): Promise<void> {
  if (database.pragma('auto_vacuum') === INCREMENTAL) return
  // Optional: a full disk, or another process at work, must not prevent the start.
  await database.waiting(() => database.script('PRAGMA auto_vacuum = INCREMENTAL; VACUUM')).catch(() => {})
}
