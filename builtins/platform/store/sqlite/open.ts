import { dirname, join } from 'node:path'
import type { Ports } from '#kernel'
import { MIGRATIONS } from '#migrations'
import { DatabaseUnusableError, type Medium } from '../contract.ts'
import { createSchema } from '../schema.ts'
import { connect, identify } from './connection.ts'
import { FROM_BACKUP, unusable } from './damage.ts'
import type { Database } from './database.ts'
import { lossOf } from './lost.ts'

/** Length of the write-ahead log at which SQLite puts it back into the file. */
const LOG_BYTES = 2 * 1024 * 1024

interface OpenOptions {
  synchronous: 'normal' | 'full'
  /** Whether to check the integrity of the whole file first. */
  check: boolean
  /** What stands between the store and the file. */
  medium?: Medium | undefined
}

/**
 * Opens or makes the database file, sees that it is ours and whole, and brings its schema up to date.
 * @throws DatabaseUnusableError naming the file and what to do; the file is then untouched
 */
export async function openDatabase(file: string, ports: Ports, options: OpenOptions): Promise<Database> {
  await ports.files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // With a medium the file holds nothing, whatever the database does.
  if (!options.medium) await refuseLost(file, ports)
  let database: Database | undefined
  try {
    // SQLite makes files by the umask; this one holds transcripts.
    await ports.files.open(file, 'a', 0o600).then(handle => handle.close())
    database = await connect(file, ports.clock, { medium: options.medium })
    await prepare(database, options)
    if (database.version() === 0) await createSchema(database)
    if (database.version() < MIGRATIONS.length) {
      // Loaded when it is needed: the migrator costs more than all else that a short command does.
      const { migrate } = await import('../migrate.ts')
      await migrate(database, ports, join(dirname(file), 'backups'))
    }
    database.remember(ports)
    return database
  } catch (error) {
    database?.close()
    throw unusable(file, error)
  }
}

/**
 * SQLite takes an empty file for a new database. That is right where a process was killed while it made one, but not
 * where
 * there were agents: that file lost its content.
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
    // `synchronous` is set in any case: SQLite's default differs between the first connection and later ones.
    // Only a file without anything in it takes this by itself; see `makeShrinkable` for others.
    // A commit writes each page that it changes whole, and changes few bytes of most: smaller pages are less to write.
    if (tables === 0) database.script('PRAGMA page_size = 1024; PRAGMA auto_vacuum = INCREMENTAL')
    database.script(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
      PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 16777216;
      PRAGMA wal_autocheckpoint = ${LOG_BYTES / database.pragma('page_size')}`)
  })
}
