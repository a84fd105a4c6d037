import type { Clock, Ports } from '#kernel'
import { DiskFullError } from '#lib/errors'
import {
  type RecordingBackend,
  type RecordingContext,
  recordingContext,
  type WrittenStatement,
  withoutRecording,
} from '#lib/recording-context'
import {
  type Connection,
  DATABASE_FULL,
  DatabaseLockedError,
  DatabaseUnusableError,
  DiskFailedError,
  type Statement,
} from '../contract.ts'
import { isDamage, unusable } from './damage.ts'
import { PARTS } from './holders.ts'
import type { Neighbours } from './neighbours.ts'

const LOCK_LIMIT_MS = 5_000
const WRITE = 'write'
const NONE: readonly unknown[] = []
/** Number of prepared statements kept; statements with values in them, which none should have, are unbounded. */
const PREPARED = 1_000

type FileIdentityPorts = Pick<Ports, 'inodeOf' | 'stampOf'>

/**
 * One connection. SQLite's own waiting would freeze the event loop, so its busy timeout is 0 and a lock that another process
 * holds is waited for asynchronously, up to 5 s. A transaction runs without an await between its first and last statement.
 */
export class Database {
  readonly file: string
  readonly #sqlite: Connection
  readonly #clock: Clock
  readonly #prepared = new Map<string, ReturnType<Connection['prepare']>>()
  readonly #listed = new Map<string, { names: readonly string[]; sql: string }>()
  /** Which files on disk are open, in the order of `PARTS`. */
  #inodes: readonly (bigint | undefined)[] = []
  #wasEmpty = false
  #writes = 0
  /** What records or repeats all that is written. */
  recording: () => RecordingBackend | undefined = () => undefined
  /** The other processes that have it open. */
  neighbours: Neighbours | undefined
  /** Aborted when the process ends. Its last writes then do not wait, one after another, for a lock that did not come free. */
  ending: AbortSignal | undefined
  /** Number of writes when a lock was last waited for in vain. */
  #stuck: number | undefined
  #statements: WrittenStatement[] | undefined

  constructor(file: string, sqlite: Connection, clock: Clock) {
    this.file = file
    this.#sqlite = sqlite
    this.#clock = clock
  }

  version(): number {
    return this.pragma('user_version')
  }

  pragma(name: string): number {
    return Number(this.#sqlite.pragma(name, { simple: true }))
  }

  /** Another number whenever another process has written. */
  dataVersion(): number {
    return (this.#statement('PRAGMA data_version').get() as { data_version: number }).data_version
  }

  /** Runs SQL of several statements, inside `write` or alone. */
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

  /** The same as `all`, at half the cost for many rows: one text of JSON comes out of SQLite instead of each value. */
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
   * Runs `work` in one immediate transaction, once the lock is free. It must not await. A throw rolls back.
   * @param what name that distinguishes it from concurrent writes, for recording and replay; begins with `write`
   * @param beside runs at the end of the transaction, and is recorded as a separate write that belongs to no cycle
   * @throws DatabaseLockedError after 5 s, or at once where the process ends and a lock has outlasted that
   */
  write<T>(work: () => T, what = WRITE, beside = () => {}): Promise<T> {
    const { neighbours } = this
    return neighbours && !this.#isIntroduced(neighbours)
      ? neighbours.introduce().then(() => this.#write(work, what, beside))
      : this.#write(work, what, beside)
  }

  #isIntroduced(neighbours: Neighbours): boolean {
    try {
      return neighbours.isIntroduced || this.recording()?.repeats === true
    } catch {
      // What fails here fails the write too, which reports it.
      return true
    }
  }

  #write<T>(work: () => T, what: string, beside: () => void): Promise<T> {
    const who = recordingContext()
    let besides: WrittenStatement[] = []
    const transact = () => {
      const recording = who ? undefined : this.recording()
      const statements: WrittenStatement[] = []
      besides = []
      const result = this.#transact(
        () => {
          if (this.neighbours?.isNear) this.neighbours.readWrites()
          const isAnnounced = this.neighbours?.listener && !this.recording()?.repeats
          if (recording || isAnnounced) this.#statements = statements
          const result = work()
          this.#statements = besides
          beside()
          this.#statements = undefined
          if (isAnnounced) this.neighbours?.announce([...statements, ...besides])
          return result
        },
        recording?.pretends ? 'ROLLBACK' : 'COMMIT',
      )
      recording?.recordWrites([...statements, ...besides])
      return result
    }
    const taken = (actor: RecordingContext) => {
      const done = actor.turn(what, transact)
      if (besides.length > 0) this.recording()?.recordWrites(besides)
      return done
    }
    return this.waiting(who ? () => taken(who) : transact)
  }

  /** The same as `write`, for what is neither recorded nor replayed. */
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
      // Some faults, a full disk among them, have rolled back already.
      if (this.#sqlite.inTransaction) this.run({ sql: 'ROLLBACK' })
      throw error
    }
  }

  /** The same as `waiting`, between those writes where the recording context reads. @param sql its name */
  read<T>(sql: string, work: () => T): Promise<T> {
    const who = recordingContext()
    const once = who && this.neighbours?.isNear ? () => this.#alone(work) : work
    return this.waiting(who ? () => who.read(sql, once) : work)
  }

  /**
   * Reads again what another process may have written meanwhile: before that is known, the order of both is unknown.
   */
  #alone<T>(work: () => T): T {
    for (;;) {
      const done = work()
      if (!this.neighbours?.readWrites()) return done
    }
  }

  /** The bytes of its file as it is now, with what only the write-ahead log holds yet. */
  image(): Buffer {
    return this.#sqlite.serialize()
  }

  /** The same string again means that nothing was written in between, neither here nor in another process. */
  state(): string {
    return `${this.dataVersion()}.${this.#writes}`
  }

  /** Tries `work` until no other process is in its way; nearly always the first time, and without a promise more than that takes. */
  waiting<T>(work: () => T | Promise<T>): Promise<T> {
    let done: T | Promise<T>
    try {
      done = work()
    } catch (error) {
      return this.#again(error, work)
    }
    return done instanceof Promise ? done.catch(error => this.#again(error, work)) : Promise.resolve(done)
  }

  async #again<T>(thrown: unknown, work: () => T | Promise<T>): Promise<T> {
    let error = thrown
    let began: number | undefined
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      if (!isBusy(error)) throw toStoreError(this.file, error)
      const now = this.#now()
      began ??= now
      const limit = this.ending?.aborted && this.#stuck === this.#writes ? 0 : LOCK_LIMIT_MS
      if (now - began > limit) {
        this.#stuck = this.#writes
        throw new DatabaseLockedError(undefined, { retryAfter: 1 })
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
   * Checks that the files on disk, log and index included, still are those that were opened; otherwise writes would be lost.
   * @throws DatabaseUnusableError
   */
  present(looks: FileIdentityPorts): void {
    const gone = PARTS.find((part, n) => looks.inodeOf(this.file + part) !== this.#inodes[n])
    const isEmptied = gone === undefined && !this.#wasEmpty && isEmpty(this.file, looks)
    if (gone === undefined && !isEmptied) return
    const problem = `was ${isEmptied ? 'emptied' : 'removed or replaced'} while in use`
    const remedy = 'put it back, or write the data of this process out before it ends, with: svc db backup'
    throw new DatabaseUnusableError({ file: this.file + (gone ?? ''), problem, remedy })
  }

  /** Reads the machine's clock, outside of any recording. */
  #now(): number {
    return withoutRecording(() => this.#clock.monotonic())
  }

  close(): void {
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

function isEmpty(file: string, { stampOf }: FileIdentityPorts): boolean {
  return stampOf(file)?.endsWith(':0') ?? false
}

/** The oldest one is dropped. */
function keep<V>(kept: Map<string, V>, sql: string, value: V): void {
  if (kept.size >= PREPARED) kept.delete(kept.keys().next().value!)
  kept.set(sql, value)
}

/**
 * Returns a statement whose plan SQLite makes once. With a bare parameter as limit it makes the plan anew at each binding, which
 * is three quarters of the cost of a short list.
 */
export function fixedPlan(sql: string): string {
  return sql.replaceAll(/\bLIMIT \?/g, 'LIMIT ? + 0')
}

/** The same values, as SQLite takes them: most are so already. */
function bindable(params: readonly unknown[]): readonly unknown[] {
  for (const value of params) if (value === undefined || typeof value === 'boolean') return params.map(toBindable)
  return params
}

function toBindable(value: unknown): unknown {
  return value === undefined ? null : typeof value === 'boolean' ? Number(value) : value
}

/** What the disk or the file has to do with an error, in a sentence; others as they are. */
function toStoreError(file: string, error: unknown): unknown {
  const code = codeOf(error)
  // Its shared memory needs disk space too; a copy is for reading only because the disk is full.
  if (code === 'SQLITE_READONLY' || code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE')
    return new DiskFullError(DATABASE_FULL, { cause: error, retryAfter: 5 })
  if (code.startsWith('SQLITE_IOERR')) return new DiskFailedError({ problem: code }, { cause: error, retryAfter: 5 })
  return isDamage(code) ? unusable(file, error) : error
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

function isBusy(error: unknown): boolean {
  const code = codeOf(error)
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}
