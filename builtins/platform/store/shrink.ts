import type { Clock, Ports } from '#kernel'
import { withoutRecording } from '#lib/recording-context'
import type { Database } from './database.ts'

/** Pages given back at a time: some milliseconds. */
const PAGES = 64
/** So many free pages are left for the next rows. */
const SPARE_PAGES = 256
/** A log that has grown beyond this is put back into the file, in bytes. */
const LARGE_LOG = 4 * 1024 * 1024

/** Frames of a log that SQLite puts back by itself where no reader is in its way, and those of some more writes. */
const SHORT_LOG = 1_200
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

/** Puts a large write-ahead log back into the file and cuts it. It waits for nobody: a reader in its way is left alone. */
export async function trimLog(database: Database, files: Ports['files']): Promise<void> {
  const size = await files.stat(`${database.file}-wal`).then(
    stat => stat.size,
    () => 0,
  )
  if (size > LARGE_LOG) await database.waiting(() => database.script('PRAGMA wal_checkpoint(TRUNCATE)'))
}

/**
 * Waits while readers keep a long write-ahead log from being put back, at most 10 s or until the signal is aborted. In nobody's
 * name: how long it is has to do with who else reads, and nothing with what whoever waits is about to do.
 */
export async function shortLog(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const log = (how: 'NOOP' | 'PASSIVE') =>
    database.waiting(() => database.get<{ log: number; checkpointed: number }>(`PRAGMA wal_checkpoint(${how})`)!)
  const isLong = async () => {
    // Only looked at: https://sqlite.org/pragma.html#pragma_wal_checkpoint
    if ((await log('NOOP')).log <= SHORT_LOG) return false
    const { log: frames, checkpointed } = await log('PASSIVE')
    return checkpointed < frames
  }
  await withoutRecording(async () => {
    for (let waited = 0; waited < PATIENCE_MS && !signal.aborted && (await isLong()); waited += LOOK_MS)
      await clock.sleep(LOOK_MS, signal)
  })
}

/** Files of early versions keep the room of removed rows for ever: they are written anew, once, while they are brought up to date. */
export async function makeShrinkable(database: Database): Promise<void> {
  if (database.pragma('auto_vacuum') === INCREMENTAL) return
  // Without it all is as good as before: a full disk, or another process at work, must not keep anybody from starting.
  await database.waiting(() => database.script('PRAGMA auto_vacuum = INCREMENTAL; VACUUM')).catch(() => {})
}
