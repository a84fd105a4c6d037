import type { Clock } from '#kernel'
import { type WrittenStatement, withoutRecording } from '#lib/recording-context'
import { shareCalls } from '#lib/share-calls'
import type { NeighbourWrites } from '../contract.ts'
import type { Database } from './database.ts'

const SELECT = /^\s*SELECT/i
/** Maximum number of unread reports. When it is exceeded, the recording ends. */
const MAX_UNREAD = 10_000
/** Time that a process waits, once, for the recorder to read its registration, in milliseconds. */
const REGISTRATION_LIMIT_MS = 2_000
/** Interval at which it checks for that, in milliseconds. */
const POLL_MS = 25
const RECORDER = 'SELECT owner, pid FROM svc_recorder'
const REPORT = 'INSERT INTO svc_told (statements) VALUES (?)'
const UNREAD = 'SELECT coalesce(max(n) - min(n), 0) AS count FROM svc_told'
const LAST = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'svc_told'), 0) AS n"
const REPORTED = 'SELECT n, statements FROM svc_told WHERE n > ? ORDER BY n'

/** What other processes have written since the last check; `unreported` if a write came without a report. */
type ForeignWrites = 'nothing' | 'registrations' | 'writes' | 'unreported'

interface Recorder {
  owner: string
  pid: number
}

/**
 * The other processes of a project, whose writes are inputs of the recording process. Each reports its writes in the
 * same transaction. The recorder reads the reports before its own next write and with its next read, so their order is
 * kept. A process registers with an empty report before its first write, and waits until the recorder has read it; until
 * then the recorder does not check for writes.
 */
export class OtherProcesses implements NeighbourWrites {
  readonly #database: Database
  readonly #clock: Clock
  readonly #owner: string
  #records = false
  /** Whether other processes exist. Each step of this process then checks what they have written. */
  #othersExist = false
  #version = 0
  #last = 0
  #removed = 0
  /** The recorder at the last check, and the database's data version then. */
  #known: { recorder: Recorder | undefined; version: number } | undefined
  /** The recorder that knows this process; '' for none. */
  #registeredWith = ''

  constructor(database: Database, clock: Clock, owner: string) {
    this.#database = database
    this.#clock = clock
    this.#owner = owner
  }

  /** Makes all other processes report their writes from now on. */
  async startWriteReports(): Promise<void> {
    this.#version = this.#database.dataVersion()
    await this.#database.writeUnrecorded(() => {
      this.#stopReports()
      const params = [this.#owner, process.pid]
      this.#database.run({ sql: 'INSERT INTO svc_recorder (owner, pid) VALUES (?, ?)', params })
      this.#last = this.#removed = this.#database.get<{ n: number }>(LAST)!.n
    })
    this.#records = true
  }

  async look(): Promise<boolean> {
    const existed = this.#othersExist
    const found = await this.#database.waiting(() => this.#readReports())
    if (found !== 'nothing') this.#othersExist = true
    if (this.#last > this.#removed) await this.#removeRead()
    return this.#recorder?.owner !== this.#owner || found === 'unreported' || (found === 'writes' && !existed)
  }

  /** Removes the reports that were read. */
  async #removeRead(): Promise<void> {
    const upTo = this.#last
    await this.#database.writeUnrecorded(() =>
      this.#database.run({ sql: 'DELETE FROM svc_told WHERE n <= ?', params: [upTo] }),
    )
    this.#removed = upTo
  }

  async end(): Promise<void> {
    this.#records = false
    this.#othersExist = false
    await this.#database.writeUnrecorded(() => this.#stopReports())
  }

  /** Removes the recorder and all reports, which ends the recording. */
  #stopReports(): void {
    this.#known = undefined
    this.#database.run({ sql: 'DELETE FROM svc_recorder' })
    this.#database.run({ sql: 'DELETE FROM svc_told' })
  }

  /** Returns whether this process must check the writes of other processes. */
  get mustCheck(): boolean {
    return this.#othersExist && this.#records
  }

  /** Reads what other processes have written. @returns whether there was anything */
  readWrites(): boolean {
    return this.#readReports() !== 'nothing'
  }

  /** Returns the other process that records, if any; this process reports its writes to it. */
  get listener(): Recorder | undefined {
    if (this.#records) return undefined
    const version = this.#database.dataVersion()
    if (this.#known?.version !== version) this.#known = { recorder: this.#recorder, version }
    const { recorder } = this.#known
    return recorder?.owner === this.#owner ? undefined : recorder
  }

  get #recorder(): Recorder | undefined {
    return this.#database.get<Recorder>(RECORDER)
  }

  /** Returns whether this process may write: no other process records, or the recorder knows this one. */
  get isRegistered(): boolean {
    try {
      const { listener } = this
      return listener === undefined || listener.owner === this.#registeredWith
    } catch {
      // Whatever fails here also fails the write, which reports it.
      return true
    }
  }

  /** Registers this process. Resolves when the recorder has read that, or a time limit has passed. */
  readonly register = shareCalls(() => withoutRecording(() => this.#register()))

  async #register(): Promise<void> {
    const { listener } = this
    if (!listener) return
    // The recorder was killed.
    if (!isAlive(listener.pid)) return this.#database.writeUnrecorded(() => this.#stopReports())
    const n = await this.#database.writeUnrecorded(() => {
      this.report([])
      return this.#database.get<{ n: number }>(LAST)!.n
    })
    const until = this.#clock.monotonic() + REGISTRATION_LIMIT_MS
    while (this.#database.get('SELECT n FROM svc_told WHERE n = ?', [n]) && this.#clock.monotonic() < until) {
      await this.#clock.sleep(POLL_MS)
    }
    this.#registeredWith = listener.owner
  }

  /** Reports a transaction to the recorder, within the transaction itself. */
  report(statements: readonly WrittenStatement[]): void {
    const writes = statements.filter(({ sql }) => !SELECT.test(sql))
    const packed = JSON.stringify(writes.map(({ sql, params }) => [sql, ...params.map(packParam)]))
    const { count } = this.#database.get<{ count: number }>(UNREAD)!
    if (count < MAX_UNREAD) this.#database.run({ sql: REPORT, params: [packed] })
    else this.#stopReports()
  }

  #readReports(): ForeignWrites {
    let version = this.#database.dataVersion()
    if (version === this.#version) return 'nothing'
    let found: ForeignWrites = 'unreported'
    while (version !== this.#version) {
      this.#version = version
      for (const { n, statements } of this.#database.all<{ n: number; statements: string }>(REPORTED, [this.#last])) {
        this.#last = n
        if (found === 'unreported') found = 'registrations'
        if (this.#readReport(statements)) found = 'writes'
      }
      // Inside a transaction no other process can write; outside, one may have written in between.
      version = this.#database.dataVersion()
    }
    return found
  }

  #readReport(statements: string): boolean {
    const written = JSON.parse(statements) as [string, ...PackedParam[]][]
    this.#database
      .recording()
      ?.recordWrites(written.map(([sql, ...params]) => ({ sql, params: params.map(unpackParam) })))
    return written.length > 0
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** JSON form of a statement's parameter. */
type PackedParam = string | number | null | { $b: string } | { $n: string }

function packParam(param: unknown): PackedParam {
  if (param === undefined || param === null) return null
  if (typeof param === 'boolean') return Number(param)
  if (typeof param === 'bigint') return { $n: String(param) }
  if (typeof param === 'string' || typeof param === 'number') return param
  return { $b: Buffer.from(param as Uint8Array).toString('base64') }
}

function unpackParam(param: PackedParam): unknown {
  if (typeof param !== 'object' || param === null) return param
  return '$n' in param ? BigInt(param.$n) : Buffer.from(param.$b, 'base64')
}
