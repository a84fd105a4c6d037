import type { Clock, Ports } from '#kernel'
import { DiskFailedError, DiskFullError } from '#lib/errors'
import {
  inContext,
  type RecordingBackend,
  recordingContext,
  type WrittenStatement,
  withoutRecording,
} from '#lib/recording-context'
import {
  type Connection,
  DATABASE_FULL,
  DatabaseLockedError,
  DatabaseUnusableError,
  type Statement,
} from '../contract.ts'
import { isDamage, unusable } from './damage.ts'
import { PARTS } from './holders.ts'
import type { OtherProcesses } from './other-processes.ts'
import { WriteGroup } from './write-group.ts'

const LOCK_LIMIT_MS = 5_000
const WRITE = 'write'
const NONE: readonly unknown[] = []
/**
 * Maximum number of cached prepared statements. A limit is needed in case statements have values in their SQL, which
 * none should.
 */
const PREPARED = 1_000

type FileIdentityPorts = Pick<Ports, 'inodeOf' | 'stampOf'>

/**
 * One connection to a database. SQLite's own waiting would block the event loop, so its busy timeout is 0 and another
 * process's lock is awaited asynchronously, up to 5 s. A transaction runs without an await between its first and last
 * statement.
 */
export class Database {
  readonly file: string
  readonly #sqlite: Connection
  readonly #clock: Clock
  readonly #prepared = new Map<string, ReturnType<Connection['prepare']>>()
  readonly #listed = new Map<string, { names: readonly string[]; sql: string }>()
  /** Inodes of the open files, in the order of `PARTS`. */
  #inodes: readonly (bigint | undefined)[] = []
  #wasEmpty = false
  #writes = 0
  /** Returns the backend that records or replays all writes. */
  recording: () => RecordingBackend | undefined = () => undefined
  /** The other processes that have the database open. */
  otherProcesses: OtherProcesses | undefined
  /** Aborted when the process ends. Its last writes then do not each wait for a lock that was not released. */
  ending: AbortSignal | undefined
  /** Number of writes at the last time that waiting for a lock failed. */
  #stuck: number | undefined
  #statements: WrittenStatement[] | undefined
  readonly #group: WriteGroup

  constructor(file: string, sqlite: Connection, clock: Clock) {
    this.file = file
    this.#sqlite = sqlite
    this.#clock = clock
    this.#group = new WriteGroup({
      clock,
      transact: (inside, committed) =>
        this.waiting(() => {
          this.#transact(inside, 'COMMIT')
          committed()
        }),
      isShared: error => error instanceof DatabaseLockedError,
    })
  }

  version(): number {
    return this.pragma('user_version')
  }

  pragma(name: string): number {
    return Number(this.#sqlite.pragma(name, { simple: true }))
  }

  /** Returns a number that changes when another process writes. */
  dataVersion(): number {
    return (this.#statement('PRAGMA data_version').get() as { data_version: number }).data_version
  }

  /** Runs SQL with several statements, inside `write` or alone. */
  script(sql: string): void {
    this.#sqlite.exec(sql)
  }

  run({ sql, params = NONE }: Statement): number {
    this.#statements?.push({ sql, params })
    return this.#statement(sql).run(...bindable(params)).changes
  }

  all<R>(sql: string, params: readonly unknown[] = NONE): R[] {
    this.#statements?.push({ sql, params })
    return this.#statement(sql).all(...bindable(params)) as R[]
  }

  /** Same as `all`, at half the cost for many rows: SQLite returns one JSON string instead of each value. */
  many<R>(sql: string, params: readonly unknown[] = []): R[] {
    let listed = this.#listed.get(sql)
    if (!listed) {
      const names = this.#statement(sql)
        .columns()
        .map(({ name }) => name)
      const values = names.map(name => `"${name}"`).join(', ')
      listed = { names, sql: `SELECT json_group_array(json_array(${values})) AS rows FROM (${sql})` }
      keep(this.#listed, sql, listed)
    }
    const { rows } = this.get<{ rows: string }>(listed.sql, params)!
    const { names } = listed
    return (JSON.parse(rows) as unknown[][]).map(row => {
      const made: Record<string, unknown> = {}
      for (let n = 0; n < names.length; n++) made[names[n]!] = row[n]
      return made as R
    })
  }

  get<R>(sql: string, params: readonly unknown[] = NONE): R | undefined {
    return this.#statement(sql).get(...bindable(params)) as R | undefined
  }

  /**
   * Runs `work` in one immediate transaction once the lock is free. `work` must not await. A throw rolls back.
   * @param what name that distinguishes it from concurrent writes, for recording and replay; begins with `write`
   * @param beside runs at the end of the transaction, and is recorded as a separate write that belongs to no cycle
   * @throws DatabaseLockedError after 5 s, or at once when the process ends and an earlier wait for the lock failed
   */
  write<T>(work: () => T, what = WRITE, beside = () => {}): Promise<T> {
    const isReplayed = this.#isReplayed()
    const { otherProcesses } = this
    return otherProcesses && !isReplayed && !otherProcesses.isRegistered
      ? otherProcesses.register().then(() => this.#write(work, what, beside, isReplayed))
      : this.#write(work, what, beside, isReplayed)
  }

  #write<T>(work: () => T, what: string, beside: () => void, isReplayed: boolean): Promise<T> {
    const context = recordingContext()
    let backend: RecordingBackend | undefined
    let statements: WrittenStatement[] = []
    let besides: WrittenStatement[] = []
    const inside = () => {
      backend = this.recording()
      statements = []
      besides = []
      if (this.otherProcesses?.mustCheck) this.otherProcesses.readWrites()
      const isReported = this.otherProcesses?.listener && !isReplayed
      if ((backend && !context) || isReported) this.#statements = statements
      const result = work()
      this.#statements = besides
      beside()
      this.#statements = undefined
      if (isReported) this.otherProcesses?.report([...statements, ...besides])
      return result
    }
    const record = () => backend?.recordWrites(context ? besides : [...statements, ...besides])
    const writeAlone = () =>
      this.waiting(
        () => {
          const transact = () =>
            this.#transact(inside, !context && this.recording()?.isReplaying ? 'ROLLBACK' : 'COMMIT')
          const done = context ? context.turn(what, transact) : transact()
          record()
          return done
        },
        context && (error => context.turn(what, () => raise(error))),
      )
    // A replay decides itself when each write runs.
    if (isReplayed) return writeAlone()
    return new Promise((resolve, reject) => {
      let result: T
      this.#group.add({
        inside: () => {
          result = inContext(context, inside)
        },
        committed: () => {
          try {
            resolve(context ? context.turn(what, () => result) : result)
            record()
          } catch (error) {
            // The data are written; a failed recording must not repeat the group.
            reject(error)
          }
        },
        alone: () => void inContext(context, writeAlone).then(resolve, reject),
        failed: reject,
      })
    })
  }

  #isReplayed(): boolean {
    try {
      return this.recording()?.isReplayProject === true
    } catch {
      // Whatever fails here also fails the write, which reports it.
      return true
    }
  }

  /** Same as `write`, but neither recorded nor replayed. */
  writeUnrecorded<T>(work: () => T): Promise<T> {
    return this.waiting(() => this.#transact(work, 'COMMIT'))
  }

  #transact<T>(work: () => T, end: 'COMMIT' | 'ROLLBACK'): T {
    this.run({ sql: 'BEGIN IMMEDIATE' })
    try {
      const result = work()
      this.run({ sql: end })
      this.#writes++
      return result
    } catch (error) {
      this.#statements = undefined
      // Some errors, such as a full disk, have already rolled back.
      if (this.#sqlite.inTransaction) this.run({ sql: 'ROLLBACK' })
      throw error
    }
  }

  /** Same as `waiting`, ordered among the recorded writes of the recording context. @param sql name of the read */
  read<T>(sql: string, work: () => T): Promise<T> {
    const who = recordingContext()
    const once = who && this.otherProcesses?.mustCheck ? () => this.#readUndisturbed(work) : work
    if (!who) return this.waiting(work)
    return this.waiting(
      () => who.read(sql, once),
      error => who.read(sql, () => raise(error)),
    )
  }

  /** Repeats the read when another process may have written meanwhile, until the order of both is known. */
  #readUndisturbed<T>(work: () => T): T {
    for (;;) {
      const done = work()
      if (!this.otherProcesses?.readWrites()) return done
    }
  }

  /** Returns the bytes of the current database, including changes that are only in the write-ahead log. */
  image(): Buffer {
    return this.#sqlite.serialize()
  }

  /** Returns a string that changes with every write, by this or another process. */
  state(): string {
    return `${this.dataVersion()}.${this.#writes}`
  }

  /**
   * Runs `work` again until no other process holds the lock. The first try nearly always succeeds.
   * @param gaveUp records the error after the last try; those before are not recorded
   */
  waiting<T>(work: () => T | Promise<T>, gaveUp?: (error: unknown) => void): Promise<T> {
    let done: T | Promise<T>
    try {
      done = work()
    } catch (error) {
      return this.#again(error, work, gaveUp)
    }
    return done instanceof Promise ? done.catch(error => this.#again(error, work, gaveUp)) : Promise.resolve(done)
  }

  async #again<T>(thrown: unknown, work: () => T | Promise<T>, gaveUp?: (error: unknown) => void): Promise<T> {
    let error = thrown
    let began: number | undefined
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      if (!isBusy(error)) throw toStoreError(this.file, error)
      const now = this.#now()
      began ??= now
      const limit = this.ending?.aborted && this.#stuck === this.#writes ? 0 : LOCK_LIMIT_MS
      if (now - began > limit) {
        this.#stuck = this.#writes
        const locked = new DatabaseLockedError(undefined, { retryAfter: 1 })
        gaveUp?.(locked)
        throw locked
      }
      await this.#clock.sleep(pause)
      try {
        return await work()
      } catch (next) {
        error = next
      }
    }
  }

  /** Records the inodes of the open files, with which `present` compares. */
  remember(looks: FileIdentityPorts): void {
    this.#inodes = PARTS.map(part => looks.inodeOf(this.file + part))
    this.#wasEmpty = isEmpty(this.file, looks)
  }

  async health(looks: FileIdentityPorts): Promise<void> {
    this.present(looks)
    await this.waiting(() => this.get('SELECT 1'))
  }

  /**
   * Checks that the files on disk, log and index included, are still those that were opened; otherwise writes would be
   * lost.
   * @throws DatabaseUnusableError
   */
  present(looks: FileIdentityPorts): void {
    const gone = PARTS.find((part, n) => looks.inodeOf(this.file + part) !== this.#inodes[n])
    const isEmptied = gone === undefined && !this.#wasEmpty && isEmpty(this.file, looks)
    if (gone === undefined && !isEmptied) return
    const problem = `was ${isEmptied ? 'emptied' : 'removed or replaced'} while in use`
    const remedy = 'put it back, or save the data of this process before it ends, with: svc db backup'
    throw new DatabaseUnusableError({ file: this.file + (gone ?? ''), problem, remedy })
  }

  /** Reads the machine's clock, outside of any recording. */
  #now(): number {
    return withoutRecording(() => this.#clock.monotonic())
  }

  close(): void {
    this.#group.flush()
    this.#prepared.clear()
    if (this.#sqlite.open) this.#sqlite.close()
  }

  #statement(sql: string): ReturnType<Connection['prepare']> {
    let statement = this.#prepared.get(sql)
    if (!statement) {
      statement = this.#sqlite.prepare(fixedPlan(sql))
      keep(this.#prepared, sql, statement)
    }
    return statement
  }
}

function raise(error: unknown): never {
  throw error
}

function isEmpty(file: string, { stampOf }: FileIdentityPorts): boolean {
  return stampOf(file)?.endsWith(':0') ?? false
}

/** Stores a value in a bounded cache, dropping the oldest. */
function keep<V>(kept: Map<string, V>, sql: string, value: V): void {
  if (kept.size >= PREPARED) kept.delete(kept.keys().next().value!)
  kept.set(sql, value)
}

/**
 * Rewrites SQL so that SQLite plans it once. With a bare parameter as LIMIT, it plans again at each binding, which is
 * three quarters of the cost of a short list.
 */
export function fixedPlan(sql: string): string {
  return sql.replaceAll(/\bLIMIT \?/g, 'LIMIT ? + 0')
}

/** Converts values to types that SQLite accepts; most already are. */
function bindable(params: readonly unknown[]): readonly unknown[] {
  for (const value of params) if (value === undefined || typeof value === 'boolean') return params.map(toBindable)
  return params
}

function toBindable(value: unknown): unknown {
  return value === undefined ? null : typeof value === 'boolean' ? Number(value) : value
}

/** Converts errors caused by the disk or the file into store errors; returns others unchanged. */
function toStoreError(file: string, error: unknown): unknown {
  const code = codeOf(error)
  // SQLite's shared memory needs disk space too, and a copy is read-only because the disk is full.
  if (code === 'SQLITE_READONLY' || code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE')
    return new DiskFullError(DATABASE_FULL, { cause: error, retryAfter: 5 })
  if (code.startsWith('SQLITE_IOERR'))
    return new DiskFailedError({ what: DATABASE_FULL.what, problem: code }, { cause: error, retryAfter: 5 })
  return isDamage(code) ? unusable(file, error) : error
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

function isBusy(error: unknown): boolean {
  const code = codeOf(error)
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}
