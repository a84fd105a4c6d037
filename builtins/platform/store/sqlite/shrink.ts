import type { Clock, Ports } from '#kernel'
import { withoutRecording } from '#lib/recording-context'
import type { Database } from './database.ts'

/** Pages given back at a time: some milliseconds. */
const PAGES = 64
/** Number of free pages left for the next rows. */
const SPARE_PAGES = 256
/** A log that has grown beyond this is put back into the file, in bytes. */
const LARGE_LOG = 4 * 1024 * 1024

/** A log is long that is this many times as long as where SQLite puts it back by itself, if no reader is in its way. */
const LONG_LOG = 1.2
/** A log that has not become shorter by then will not soon: a reader holds on to what it sees, in milliseconds. */
const PATIENCE_MS = 10_000
const LOOK_MS = 50

/** `PRAGMA auto_vacuum` of a file whose free pages can be given back one by one. */
const INCREMENTAL = 2

/** Gives free pages back to the system, a few at a time. @returns how many bytes */
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
 * Waits while readers keep a long write-ahead log from being checkpointed, at most 10 s or until the signal is aborted.
 * Outside of any
 * recording: the length depends on other readers, and not on the caller.
 */
export async function shortLog(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const log = (how: 'NOOP' | 'PASSIVE') =>
    database.waiting(() => database.get<{ log: number; checkpointed: number }>(`PRAGMA wal_checkpoint(${how})`)!)
  const isLong = async () => {
    // Only looked at: https://sqlite.org/pragma.html#pragma_wal_checkpoint
    if ((await log('NOOP')).log <= database.pragma('wal_autocheckpoint') * LONG_LOG) return false
    const { log: frames, checkpointed } = await log('PASSIVE')
    return checkpointed < frames
  }
  await withoutRecording(async () => {
    for (let waited = 0; waited < PATIENCE_MS && !signal.aborted && (await isLong()); waited += LOOK_MS)
      await clock.sleep(LOOK_MS, signal)
  })
}

/** Files of early versions never free the space of removed rows: they are rewritten, once, while they are migrated. */
export async function makeShrinkable(database: Database): Promise<void> {
  if (database.pragma('auto_vacuum') === INCREMENTAL) return
  // It is optional: a full disk, or another process at work, must not stop the start.
  await database.waiting(() => database.script('PRAGMA auto_vacuum = INCREMENTAL; VACUUM')).catch(() => {})
}
