import type { Noted } from '#kernel'
import type { Overheard } from './contract.ts'
import type { Database } from './database.ts'

const SELECT = /^\s*SELECT/i
/** So many transactions are told at most: whoever has not taken in the first of them does not record any more. */
const MOST = 10_000
const OTHERS = 'SELECT owner, pid FROM svc_neighbours WHERE owner <> ?'
const RECORDER = 'SELECT owner FROM svc_recorder'
const TELL = 'INSERT INTO svc_told (statements) VALUES (?)'
const WAITING = 'SELECT coalesce(max(n) - min(n), 0) AS count FROM svc_told'
const LAST = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'svc_told'), 0) AS n"
const TOLD = 'SELECT n, statements FROM svc_told WHERE n > ? ORDER BY n'

/** What others have written since the last look: nothing, told transactions, or what nobody has told. */
type Heard = 'nothing' | 'words' | 'writes' | 'silence'

/**
 * The other processes of a project, which are part of what happens to the one that records. Each tells it of all that it writes,
 * in the same transaction; it takes that in before its own next write, and with its next read, and so where it was.
 */
export class Neighbours implements Overheard {
  readonly #database: Database
  readonly #owner: string
  #records = false
  /** Others are there: each step of this process is taken with a look at what they have written. */
  #near = false
  #version = 0
  #last = 0
  #forgotten = 0

  constructor(database: Database, owner: string) {
    this.#database = database
    this.#owner = owner
  }

  /** This process stays a while: whoever records is to look from now on. */
  come(pid: number): Promise<void> {
    return this.#say(() => {
      this.#others()
      this.#database.run({ sql: 'INSERT INTO svc_neighbours (owner, pid) VALUES (?, ?)', params: [this.#owner, pid] })
    })
  }

  go(): Promise<void> {
    return this.#say(() => this.#leave(this.#owner))
  }

  #say(what: () => void): Promise<void> {
    return this.#database.unseen(() => {
      what()
      if (this.listening) this.tell([])
    })
  }

  /** How many there are besides this one; those that were killed are none any more. */
  #others(): number {
    const others = this.#database.all<{ owner: string; pid: number }>(OTHERS, [this.#owner])
    const gone = others.filter(({ pid }) => !isAlive(pid))
    for (const { owner } of gone) this.#leave(owner)
    return others.length - gone.length
  }

  #leave(owner: string): void {
    this.#database.run({ sql: 'DELETE FROM svc_neighbours WHERE owner = ?', params: [owner] })
  }

  /** Has all others tell of what they write from this very moment on. */
  async overhear(): Promise<void> {
    this.#version = this.#now()
    await this.#database.unseen(() => {
      this.#near = this.#others() > 0
      this.#deafen()
      this.#database.run({ sql: 'INSERT INTO svc_recorder (owner) VALUES (?)', params: [this.#owner] })
      this.#last = this.#forgotten = this.#database.get<{ n: number }>(LAST)!.n
    })
    this.#records = true
  }

  async look(): Promise<boolean> {
    const wasNear = this.#near
    const heard = await this.#database.waiting(() => this.#takeIn())
    if (heard !== 'nothing') this.#near = true
    if (this.#last > this.#forgotten) await this.#forget()
    const recorder = this.#database.get<{ owner: string }>(RECORDER)
    return recorder?.owner !== this.#owner || heard === 'silence' || (heard === 'writes' && !wasNear)
  }

  /** What was taken in needs no telling any more. */
  async #forget(): Promise<void> {
    const upTo = this.#last
    await this.#database.unseen(() => this.#database.run({ sql: 'DELETE FROM svc_told WHERE n <= ?', params: [upTo] }))
    this.#forgotten = upTo
  }

  async end(): Promise<void> {
    this.#records = false
    this.#near = false
    await this.#database.unseen(() => this.#deafen())
  }

  /** Nobody records any more. */
  #deafen(): void {
    this.#database.run({ sql: 'DELETE FROM svc_recorder' })
    this.#database.run({ sql: 'DELETE FROM svc_told' })
  }

  /** Whether this process has to look at what others write. */
  get near(): boolean {
    return this.#near && this.#records
  }

  /** Takes in what others have written. @returns whether anybody has */
  heard(): boolean {
    return this.#takeIn() !== 'nothing'
  }

  /** Whether somebody else records, inside a transaction: it is to be told of it. */
  get listening(): boolean {
    if (this.#records) return false
    const recorder = this.#database.get<{ owner: string }>(RECORDER)
    return recorder !== undefined && recorder.owner !== this.#owner
  }

  /** Tells whoever records of a transaction, as part of it. */
  tell(noted: readonly Noted[]): void {
    const writes = noted.filter(({ sql }) => !SELECT.test(sql))
    const statements = JSON.stringify(writes.map(({ sql, params }) => [sql, ...params.map(packed)]))
    const { count } = this.#database.get<{ count: number }>(WAITING)!
    if (count < MOST) this.#database.run({ sql: TELL, params: [statements] })
    else this.#deafen()
  }

  #takeIn(): Heard {
    let version = this.#now()
    if (version === this.#version) return 'nothing'
    let heard: Heard = 'silence'
    while (version !== this.#version) {
      this.#version = version
      for (const { n, statements } of this.#database.all<{ n: number; statements: string }>(TOLD, [this.#last])) {
        this.#last = n
        if (heard === 'silence') heard = 'words'
        if (this.#hear(statements)) heard = 'writes'
      }
      // Nobody can write inside a transaction; outside of one somebody may have, between the two.
      version = this.#now()
    }
    return heard
  }

  /** Another number whenever another process has written. */
  #now(): number {
    return this.#database.get<{ data_version: number }>('PRAGMA data_version')!.data_version
  }

  #hear(statements: string): boolean {
    const written = JSON.parse(statements) as [string, ...Packed[]][]
    this.#database.tape()?.wrote(written.map(([sql, ...params]) => ({ sql, params: params.map(unpacked) })))
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

/** A parameter of a statement as JSON holds it. */
type Packed = string | number | null | { $b: string } | { $n: string }

function packed(param: unknown): Packed {
  if (param === undefined || param === null) return null
  if (typeof param === 'boolean') return Number(param)
  if (typeof param === 'bigint') return { $n: String(param) }
  if (typeof param === 'string' || typeof param === 'number') return param
  return { $b: Buffer.from(param as Uint8Array).toString('base64') }
}

function unpacked(param: Packed): unknown {
  if (typeof param !== 'object' || param === null) return param
  return '$n' in param ? BigInt(param.$n) : Buffer.from(param.$b, 'base64')
}
