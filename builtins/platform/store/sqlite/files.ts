import { dirname, join } from 'node:path'
import type { Ports } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { DiskFullError, readProblem } from '#lib/errors'
import { succeeds } from '#lib/succeeds'
import { MIGRATIONS } from '#migrations'
import { DatabaseInUseError, type DatabaseReport, DatabaseUnusableError, FileExistsError } from '../contract.ts'
import { connect, identify } from './connection.ts'
import { FROM_BACKUP, OTHER, unusable } from './damage.ts'
import type { Database } from './database.ts'
import { engine, notLoaded } from './engine.ts'
import { openParts, PARTS } from './holders.ts'
import { lossOf } from './lost.ts'
import { reading } from './snapshot.ts'

export { lossOf } from './lost.ts'
export { snapshot } from './snapshot.ts'

/** Time after which a lock counts as permanent, and interval of the attempts, in milliseconds. */
const LOCK_STAYS_MS = 2_000
const LOCK_TRIED_MS = 50
/** Maximum number of faults reported for a damaged file. */
const FAULTS_MOST = 10

/** Version of the schema that this program needs. */
export const schemaVersion = MIGRATIONS.length

/** Returns the version of SQLite. @throws NativeModuleError */
export async function engineVersion(): Promise<string> {
  const Sqlite = await engine()
  let memory: InstanceType<typeof Sqlite> | undefined
  try {
    memory = new Sqlite(':memory:')
    return String(memory.prepare('SELECT sqlite_version()').pluck().get())
  } catch (error) {
    throw notLoaded(error)
  } finally {
    memory?.close()
  }
}

/**
 * Returns whether another process has held the write lock longer than one of our commits takes. A database that no
 * process has open is not opened: the first connection would change its files.
 */
export async function isLocked(file: string, ports: Ports): Promise<boolean> {
  if ((await openParts(file, ports)).length === 0) return false
  const { clock } = ports
  const until = clock.monotonic() + LOCK_STAYS_MS
  const database = await connect(file, clock, {})
  try {
    for (;;) {
      try {
        database.script('BEGIN IMMEDIATE; ROLLBACK')
        return false
      } catch (error) {
        if (!/^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')) throw error
        if (clock.monotonic() >= until) return true
      }
      await clock.sleep(LOCK_TRIED_MS)
    }
  } finally {
    database.close()
  }
}

/**
 * Checks a database file, also while other processes have it open, without changing anything on disk.
 * @throws DatabaseUnusableError for a file of another program, or one whose main file is lost
 */
export async function checkDatabase(file: string, ports: Ports): Promise<DatabaseReport> {
  const loss = await lossOf(file, ports)
  if (loss) throw loss
  return withFile(file, ports, database => {
    const damage = damageOf(database)
    if (damage.length > 0) return damage
    const broken = database.all<{ table: string }>('PRAGMA foreign_key_check').map(row => row.table)
    return [...new Set(broken)].map(table => `rows of ${table} refer to rows that are gone`)
  })
}

function damageOf(database: Database): string[] {
  const rows = database.all<{ integrity_check: string }>(`PRAGMA integrity_check(${FAULTS_MOST})`)
  const lines = rows.flatMap(row => row.integrity_check.split('\n'))
  return lines.filter(line => line !== 'ok' && !line.startsWith('***'))
}

/** Reads a database file and checks that it belongs to this program. @throws DatabaseUnusableError */
async function withFile(
  file: string,
  ports: Ports,
  faultsOf: (database: Database) => string[],
): Promise<DatabaseReport> {
  if (!(await lossOf(file, ports))) {
    await ports.files.stat(file).catch(error => {
      throw new DatabaseUnusableError({ file, problem: readProblem(error), remedy: OTHER })
    })
  }
  try {
    return await reading(file, ports, database => {
      const { version, tables } = identify(database)
      if (tables === 0) throw new DatabaseUnusableError({ file, problem: 'is empty', remedy: OTHER })
      const bytes = database.pragma('page_count') * database.pragma('page_size')
      return { file, version, bytes, faults: faultsOf(database) }
    })
  } catch (error) {
    throw unusable(file, error)
  }
}

/**
 * Copies a database at one point in time, without blocking its readers and writers. The copy is checked before it gets
 * its final name.
 * @throws FileExistsError, DatabaseUnusableError
 */
export async function backupDatabase(file: string, target: string, ports: Ports): Promise<DatabaseReport> {
  const { files } = ports
  if (await exists(files, target)) throw new FileExistsError({ file: target })
  const copy = async (beside: string) => void (await withFile(file, ports, vacuumInto(beside)))
  return keepCopy(file, target, copy, ports)
}

/**
 * Same as `backupDatabase`, for a database that this process has open. @param copy writes the copy to the given path
 */
export async function keepCopy(
  file: string,
  target: string,
  copy: (beside: string) => Promise<void>,
  ports: Ports,
): Promise<DatabaseReport> {
  const { files } = ports
  const { beside, report, discard } = await copyChecked(file, target, copy, ports)
  try {
    // Linking never replaces a file that another process created meanwhile; file systems without links rename.
    await files.link(beside, target).catch(error => {
      if (error.code === 'EEXIST') throw new FileExistsError({ file: target })
      return files.rename(beside, target)
    })
    await flush(files, dirname(target))
    return { ...report, file: target }
  } finally {
    await discard()
  }
}

/**
 * Replaces the database with a backup, and keeps the old one beside the backups. Nothing is changed unless the backup
 * is intact and no process has the database open.
 * @returns where the previous database is now, or null when there was none
 * @throws DatabaseUnusableError, DatabaseInUseError
 */
export async function restoreDatabase(
  file: string,
  source: string,
  keep: string,
  ports: Ports,
): Promise<DatabaseReport & { kept: string | null }> {
  const { files } = ports
  const { beside, report, discard } = await copyChecked(
    source,
    file,
    async beside => void (await withFile(source, ports, vacuumInto(beside))),
    ports,
  )
  try {
    const kept = (await exists(files, file)) ? keep : null
    await keepDamaged(file, keep, ports)
    crashPoint?.('database set aside')
    await files.rename(beside, file)
    crashPoint?.('database replaced')
    await flush(files, dirname(file))
    return { ...report, file, kept }
  } finally {
    await discard()
  }
}

/**
 * Keeps the present files under a second name, log included, so that a database exists at every moment. The log of a
 * removed main file must not be applied to another database.
 */
async function keepDamaged(file: string, kept: string, ports: Ports): Promise<void> {
  const { files, clock } = ports
  const open = await openParts(file, ports)
  const loss = await lossOf(file, ports)
  if (loss && open.length > 0) throw loss
  if (open.length > 0) throw new DatabaseInUseError({ file })
  // SQLite would discard the log of a lost main file.
  if (!loss && (await exists(files, file))) await leaveWalMode(file, clock)
  for (const rest of PARTS) {
    if (!(await exists(files, file + rest))) continue
    await files.mkdir(dirname(kept), { recursive: true, mode: 0o700 })
    await files.link(file + rest, kept + rest).catch(() => files.copyFile(file + rest, kept + rest))
    if (rest) await files.rm(file + rest, { force: true })
  }
}

/**
 * Leaves WAL mode, which writes the log into the main file and requires that no other connection exists. Other errors
 * are ignored, since no process holds a file that is too damaged.
 * @throws DatabaseInUseError
 */
async function leaveWalMode(file: string, clock: Ports['clock']): Promise<void> {
  const database = await connect(file, clock, {}).catch(() => undefined)
  try {
    database?.script('PRAGMA journal_mode = DELETE')
  } catch (error) {
    const code = (error as { code?: string }).code ?? ''
    if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) throw new DatabaseInUseError({ file })
  } finally {
    database?.close()
  }
}

/** Copies a database into a folder beside the target, and checks the copy. @throws DatabaseUnusableError */
async function copyChecked(file: string, target: string, copy: (beside: string) => Promise<void>, ports: Ports) {
  const { files } = ports
  await files.mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const folder = await files.mkdtemp(join(dirname(target), '.copy-'))
  const beside = join(folder, 'svc.db')
  try {
    await copy(beside).catch(error => {
      // The copy may be on another disk than the database.
      if (error instanceof DiskFullError) throw new DiskFullError({ what: target, next: '' }, { cause: error })
      throw error
    })
    crashPoint?.('database copied')
    await files.chmod(beside, 0o600)
    const report = await withFile(beside, ports, damageOf)
    const [damage] = report.faults
    if (damage) throw new DatabaseUnusableError({ file, problem: `is damaged (${damage})`, remedy: FROM_BACKUP })
    await flush(files, beside)
    return { beside, report, discard: () => files.rm(folder, { recursive: true, force: true }) }
  } catch (error) {
    await files.rm(folder, { recursive: true, force: true })
    throw error
  }
}

function vacuumInto(beside: string) {
  return (database: Database): string[] => {
    database.run({ sql: 'VACUUM INTO ?', params: [beside] })
    return []
  }
}

async function exists(files: Ports['files'], path: string): Promise<boolean> {
  return succeeds(files.stat(path))
}

/** Flushes a file, or the entries of a folder, to disk. */
async function flush(files: Ports['files'], path: string): Promise<void> {
  const handle = await files.open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
