import { dirname, join } from 'node:path'
import type { Log, Ports } from '#kernel'
import { MIGRATIONS } from '#migrations'
import { DatabaseUnusableError, type Medium } from '../contract.ts'
import { createSchema } from '../schema.ts'
import { connect, identify } from './connection.ts'
import { FROM_BACKUP, unusable } from './damage.ts'
import type { Database } from './database.ts'
import { lossOf } from './lost.ts'

/**
 * Size of the write-ahead log at which SQLite checkpoints it, in bytes. A checkpoint writes each changed page once: with
 * 12 MB, a turn of the model writes a third fewer bytes than with 2 MB. It blocks the event loop for 20 to 60 ms. The
 * file stays below 16 MB.
 */
const LOG_BYTES = 12 * 1024 * 1024

interface OpenOptions {
  synchronous: 'normal' | 'full'
  /** Whether to check the integrity of the whole file first. */
  check: boolean
  /** Wraps the connection to the file, to simulate failing disks. */
  medium?: Medium | undefined
  log?: Log
}

/**
 * Opens or creates the database file, checks that it is intact and belongs to this program, and migrates its schema.
 * @throws DatabaseUnusableError naming the file and the remedy; the file is then untouched
 */
export async function openDatabase(file: string, ports: Ports, options: OpenOptions): Promise<Database> {
  await ports.files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // With a medium, the content is not in this file.
  if (!options.medium) await refuseLost(file, ports)
  let database: Database | undefined
  try {
    // SQLite would create the file by the umask; it holds transcripts, so only its owner may read it.
    await ports.files.open(file, 'a', 0o600).then(handle => handle.close())
    const open = async () => {
      database = await connect(file, ports.clock, { medium: options.medium })
      await prepare(database, options)
      return database
    }
    database = await open()
    if (database.version() === 0) await createSchema(database)
    if (database.version() < MIGRATIONS.length) {
      // Loaded only when needed: the migrator takes longer than everything else in a short command.
      const { withMigrationLock, migrate } = await import('./migrate.ts')
      // Closed meanwhile, so that of several processes that start at once, one has the file to itself.
      database.close()
      database = await withMigrationLock(file, ports, async () => {
        const alone = await open()
        if (alone.version() < MIGRATIONS.length) await migrate(alone, ports, options.log)
        return alone
      })
    }
    database.remember(ports)
    return database
  } catch (error) {
    database?.close()
    throw unusable(file, error)
  }
}

/**
 * Throws when the files are lost, or the database is empty although agents have run. SQLite treats an empty file as a
 * new database, which is right only if a process was killed while it created the file.
 */
async function refuseLost(file: string, ports: Ports): Promise<void> {
  const loss = await lossOf(file, ports)
  if (loss) throw loss
  const size = (await ports.files.stat(file).catch(() => undefined))?.size
  if (size !== 0) return
  const workspaces = await ports.files.readdir(join(dirname(file), 'workspaces')).catch(() => [])
  if (workspaces.length === 0) return
  throw new DatabaseUnusableError({ file, problem: 'is empty, though agents have run here', remedy: FROM_BACKUP })
}

async function prepare(database: Database, { synchronous, check }: OpenOptions): Promise<void> {
  const { file } = database
  await database.waiting(() => {
    const { tables } = identify(database)
    if (check && tables > 0) {
      const found = Object.values(database.get<Record<string, string>>('PRAGMA quick_check(1)') ?? {})[0]
      if (found !== 'ok') {
        const problem = `is damaged (${found?.replace(/^\*\*\*.*\n/, '')})`
        throw new DatabaseUnusableError({ file, problem, remedy: FROM_BACKUP })
      }
    }
    // `synchronous` is always set: SQLite's default differs between the first connection and later ones. Only an empty
    // file accepts these settings; see `makeShrinkable` for others. A commit writes whole pages but changes few bytes
    // of most, so smaller pages mean fewer bytes. Pages that are not in the cache of 6 MB are mostly in the system's.
    if (tables === 0) database.script('PRAGMA page_size = 1024; PRAGMA auto_vacuum = INCREMENTAL')
    database.script(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
      PRAGMA foreign_keys = ON; PRAGMA cache_size = -6144; PRAGMA journal_size_limit = 16777216;
      PRAGMA wal_autocheckpoint = ${LOG_BYTES / database.pragma('page_size')}`)
  })
}
