import { dirname, join } from 'node:path'
import type DatabaseClass from 'better-sqlite3'
import { type Clock, type Ports, sentenceOf } from '#kernel'
import { DatabaseLockedError, DatabaseUnusableError, type Statement } from './contract.ts'
import { MIGRATIONS } from './migrations.ts'

/** `svc1` in ASCII: how a file of ours is told from another program's. */
export const APPLICATION_ID = 0x73766331
const LOCK_LIMIT_MS = 5_000

type Sqlite = DatabaseClass.Database

/**
 * One connection. SQLite's own waiting would freeze the event loop, so its busy timeout is 0 and a lock that another process
 * holds is waited for asynchronously, up to 5 s. A transaction runs without an await between its first and last statement.
 */
export class Database {
  readonly file: string
  readonly #sqlite: Sqlite
  readonly #clock: Clock
  readonly #prepared = new Map<string, DatabaseClass.Statement>()
  #inode = 0n

  /** Opens or makes the file, checks that it is ours and whole, and brings its schema up to date. @throws DatabaseUnusableError */
  static async open(
    file: string,
    ports: Ports,
    options: { synchronous: 'normal' | 'full'; check: boolean },
  ): Promise<Database> {
    await ports.files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
    // SQLite makes files by the umask; this one holds transcripts.
    await ports.files.open(file, 'a', 0o600).then(handle => handle.close())
    const { default: Sqlite } = await import('better-sqlite3')
    let sqlite: Sqlite
    try {
      sqlite = new Sqlite(file, { timeout: 0 })
    } catch (error) {
      throw unusable(file, error)
    }
    const database = new Database(file, sqlite, ports.clock)
    try {
      await database.#prepare(options)
      const { migrate } = await import('./migrate.ts')
      if (database.version() < MIGRATIONS.length) await migrate(database, ports, join(dirname(file), 'backups'))
      database.#inode = (await ports.files.stat(file, { bigint: true })).ino
    } catch (error) {
      sqlite.close()
      throw unusable(file, error)
    }
    return database
  }

  private constructor(file: string, sqlite: Sqlite, clock: Clock) {
    this.file = file
    this.#sqlite = sqlite
    this.#clock = clock
  }

  async #prepare({ synchronous, check }: { synchronous: 'normal' | 'full'; check: boolean }): Promise<void> {
    const file = this.file
    await this.waiting(() => {
      const id = this.pragma('application_id')
      const version = this.version()
      const tables = Number((this.#sqlite.prepare('SELECT count(*) AS n FROM sqlite_master').get() as { n: number }).n)
      if (id !== APPLICATION_ID && (tables > 0 || version > 0 || id !== 0)) {
        const remedy = 'move it away, or set another project folder'
        throw new DatabaseUnusableError({ file, problem: 'belongs to another program', remedy })
      }
      if (version > MIGRATIONS.length) {
        const problem = `has schema version ${version}, and this program knows ${MIGRATIONS.length}`
        throw new DatabaseUnusableError({ file, problem, remedy: 'update svc' })
      }
      if (check && tables > 0) {
        const found = String(this.#sqlite.pragma('quick_check(1)', { simple: true }))
        const remedy = 'restore a backup from .svc/backups, or move the file away'
        if (found !== 'ok') throw new DatabaseUnusableError({ file, problem: `is damaged (${found})`, remedy })
      }
      this.#sqlite.pragma('journal_mode = WAL')
      // Explicit, because SQLite's default differs between the first connection and later ones.
      this.#sqlite.pragma(`synchronous = ${synchronous}`)
      this.#sqlite.pragma('foreign_keys = ON')
      this.#sqlite.pragma('journal_size_limit = 16777216')
    })
  }

  version(): number {
    return this.pragma('user_version')
  }

  pragma(name: string): number {
    return Number(this.#sqlite.pragma(name, { simple: true }))
  }

  /** Runs SQL of several statements, inside `write` or alone. */
  script(sql: string): void {
    this.#sqlite.exec(sql)
  }

  run({ sql, params = [] }: Statement): number {
    return this.#statement(sql).run(...params.map(bindable)).changes
  }

  all<R>(sql: string, params: readonly unknown[] = []): R[] {
    return this.#statement(sql).all(...params.map(bindable)) as R[]
  }

  get<R>(sql: string, params: readonly unknown[] = []): R | undefined {
    return this.#statement(sql).get(...params.map(bindable)) as R | undefined
  }

  /** Runs `work` in one immediate transaction, once the lock is free. It must not await. A throw rolls back. @throws DatabaseLockedError after 5 s */
  write<T>(work: () => T): Promise<T> {
    return this.waiting(() => {
      this.run({ sql: 'BEGIN IMMEDIATE' })
      try {
        const result = work()
        this.run({ sql: 'COMMIT' })
        return result
      } catch (error) {
        // Some faults, a full disk among them, have rolled back already.
        if (this.#sqlite.inTransaction) this.run({ sql: 'ROLLBACK' })
        throw error
      }
    })
  }

  /** Tries `work` until no other process is in its way. */
  async waiting<T>(work: () => T): Promise<T> {
    const began = this.#clock.monotonic()
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      try {
        return work()
      } catch (error) {
        if (!isBusy(error)) throw error
        if (this.#clock.monotonic() - began > LOCK_LIMIT_MS) throw new DatabaseLockedError(undefined, { retryAfter: 1 })
      }
      await this.#clock.sleep(pause)
    }
  }

  /** Whether the file on disk still is the one that was opened. @throws DatabaseUnusableError */
  async health(files: Ports['files']): Promise<void> {
    const inode = await files
      .stat(this.file, { bigint: true })
      .then(stat => stat.ino)
      .catch(() => undefined)
    if (inode !== this.#inode) {
      const remedy = 'stop the service, put the file back, start again'
      throw new DatabaseUnusableError({ file: this.file, problem: 'was removed or replaced while in use', remedy })
    }
    await this.waiting(() => this.get('SELECT 1'))
  }

  close(): void {
    this.#prepared.clear()
    if (this.#sqlite.open) this.#sqlite.close()
  }

  #statement(sql: string): DatabaseClass.Statement {
    let statement = this.#prepared.get(sql)
    if (!statement) {
      statement = this.#sqlite.prepare(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }
}

function bindable(value: unknown): unknown {
  if (value === undefined) return null
  return typeof value === 'boolean' ? Number(value) : value
}

function isBusy(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? ''
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}

function unusable(file: string, error: unknown): unknown {
  const code = (error as { code?: string }).code ?? ''
  const remedy = 'restore a backup from .svc/backups, or move the file away'
  if (code === 'SQLITE_NOTADB')
    return new DatabaseUnusableError({ file, problem: 'is not a database', remedy }, { cause: error })
  if (code.startsWith('SQLITE_CORRUPT'))
    return new DatabaseUnusableError({ file, problem: 'is damaged', remedy }, { cause: error })
  if (code.startsWith('SQLITE_')) {
    return new DatabaseUnusableError(
      { file, problem: `cannot be opened (${sentenceOf(error)})`, remedy: 'check its permissions and the disk' },
      { cause: error },
    )
  }
  return error
}
