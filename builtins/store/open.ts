import { dirname, join } from 'node:path'
import { type Ports, sentenceOf } from '#kernel'
import { DatabaseUnusableError } from './contract.ts'
import { Database } from './database.ts'
import { APPLICATION_ID, MIGRATIONS } from './migrations/index.ts'

interface OpenOptions {
  synchronous: 'normal' | 'full'
  /** Whether to look through the whole file for damage first. */
  check: boolean
}

const FROM_BACKUP = 'restore a backup from .svc/backups, or move the file away'

/**
 * Opens or makes the database file, sees that it is ours and whole, and brings its schema up to date.
 * @throws DatabaseUnusableError naming the file and what to do; the file is then untouched
 */
export async function openDatabase(file: string, ports: Ports, options: OpenOptions): Promise<Database> {
  await ports.files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // SQLite makes files by the umask; this one holds transcripts.
  await ports.files.open(file, 'a', 0o600).then(handle => handle.close())
  const { default: Sqlite } = await import('better-sqlite3')
  let database: Database | undefined
  try {
    database = new Database(file, new Sqlite(file, { timeout: 0 }), ports.clock)
    await prepare(database, options)
    if (database.version() < MIGRATIONS.length) {
      // Loaded when it is needed: the migrator costs more than all else that a short command does.
      const { migrate } = await import('./migrate.ts')
      await migrate(database, ports, join(dirname(file), 'backups'))
    }
    await database.remember(ports.files)
    return database
  } catch (error) {
    database?.close()
    throw unusable(file, error)
  }
}

async function prepare(database: Database, { synchronous, check }: OpenOptions): Promise<void> {
  const { file } = database
  await database.waiting(() => {
    const version = database.version()
    const tables = database.get<{ n: number }>('SELECT count(*) AS n FROM sqlite_master')?.n ?? 0
    const id = database.pragma('application_id')
    if (id !== APPLICATION_ID && (tables > 0 || version > 0 || id !== 0)) {
      const remedy = 'move it away, or set another project folder'
      throw new DatabaseUnusableError({ file, problem: 'belongs to another program', remedy })
    }
    if (version > MIGRATIONS.length) {
      const problem = `has schema version ${version}, and this program knows ${MIGRATIONS.length}`
      throw new DatabaseUnusableError({ file, problem, remedy: 'update svc' })
    }
    if (check && tables > 0) {
      const found = Object.values(database.get<Record<string, string>>('PRAGMA quick_check(1)') ?? {})[0]
      if (found !== 'ok')
        throw new DatabaseUnusableError({ file, problem: `is damaged (${found})`, remedy: FROM_BACKUP })
    }
    // `synchronous` is set in any case: SQLite's default differs between the first connection and later ones.
    database.script(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
      PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 16777216`)
  })
}

function unusable(file: string, error: unknown): unknown {
  const code = (error as { code?: string }).code ?? ''
  if (!code.startsWith('SQLITE_')) return error
  const [problem, remedy] =
    code === 'SQLITE_NOTADB'
      ? ['is not a database', FROM_BACKUP]
      : code.startsWith('SQLITE_CORRUPT')
        ? ['is damaged', FROM_BACKUP]
        : [`cannot be opened (${sentenceOf(error)})`, 'check its permissions and the disk']
  return new DatabaseUnusableError({ file, problem, remedy }, { cause: error })
}
