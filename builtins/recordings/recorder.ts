import { createHash } from 'node:crypto'
import { type Actor, type Draw, type Lease, type Noted, outside, type Tape } from '#kernel'
import { type Entry, type Packed, recordOf } from './entries.ts'

/** Shorter values stand where they are used, in characters. */
const LONG = 512
/** So many messages are known by their digests. */
const SAID = 2_000
const SELECT = /^\s*SELECT/i
/** So many long values are known to be written already; older ones are written again. */
const KNOWN = 20_000

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('base64')
}

/** What is recorded in one process from one moment on, until it is handed to whoever writes it down. */
export class TapeRecorder implements Tape {
  readonly pretends = false
  #entries: Entry[] = []
  readonly #texts = new Map<string, number>()
  readonly #selects = new Set<number>()
  readonly #long = new Map<string, number>()
  readonly #digests = new Map<string, string>()
  readonly #written = new WeakMap<object, string>()
  readonly #drawing = new Set<RecordedActor>()
  readonly #mask: (text: string) => string
  #actors = 0
  #names = 0
  #values = 0
  /** Set once nothing more is wanted. */
  #over = false

  /** @param mask takes the values of secrets out of a text */
  constructor(mask: (text: string) => string) {
    this.#mask = mask
  }

  begin(lease: Lease, abort: AbortController): Actor | undefined {
    if (this.#over) return undefined
    const id = this.#actors++
    this.add(['b', id, lease.id, lease.kind, lease.owner, lease.epoch, lease.cycle_num])
    return this.actor(id, abort)
  }

  /** One who begins, or goes on where another tape ended. */
  actor(id: number, abort: AbortController, drawn?: { ms: number; monotonic: number }): RecordedActor {
    const actor = new RecordedActor(this, id, drawn)
    abort.signal.addEventListener('abort', () => {
      if (!actor.over) this.add(['a', id, recordOf(abort.signal.reason)])
    })
    return actor
  }

  /** Goes on from a tape that was made before. */
  resume(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry)
      if (entry[0] === 'b') this.#actors = Math.max(this.#actors, entry[1] + 1)
      else if (entry[0] === 'x') this.#values = Math.max(this.#values, entry[1] + 1)
      else if (entry[0] === 's') {
        this.#texts.set(entry[2], entry[1])
        this.#names = Math.max(this.#names, entry[1] + 1)
        if (SELECT.test(entry[2])) this.#selects.add(entry[1])
      }
    }
  }

  wrote(statements: readonly Noted[]): void {
    if (this.#over) return
    const written: [number, ...Packed[]][] = []
    for (const { sql, params } of statements) {
      const name = this.name(sql)
      if (!this.#selects.has(name)) written.push([name, ...params.map(param => this.#packed(param))])
    }
    if (written.length > 0) this.add(['o', written])
  }

  add(entry: Entry): void {
    if (!this.#over) this.#entries.push(entry)
  }

  drew(actor: RecordedActor): void {
    this.#drawing.add(actor)
  }

  /** How many entries wait to be written. */
  get waiting(): number {
    return this.#entries.length
  }

  /** All since the last time, for the file. */
  take(): Entry[] {
    for (const actor of this.#drawing) {
      const drawn = actor.drawn()
      if (drawn) this.#entries.push(drawn)
    }
    this.#drawing.clear()
    const entries = this.#entries
    this.#entries = []
    return entries
  }

  stop(): void {
    this.#over = true
  }

  /** The number of a text that comes again and again. */
  name(text: string): number {
    let name = this.#texts.get(text)
    if (name === undefined) {
      name = this.#names++
      this.#texts.set(text, name)
      if (SELECT.test(text)) this.#selects.add(name)
      this.add(['s', name, text])
    }
    return name
  }

  /** A value as JSON, now: whoever gets it may change it. */
  value(value: unknown): Packed {
    if (typeof value !== 'object' || value === null) return this.#text(JSON.stringify(value) ?? '')
    let json = this.#written.get(value)
    if (json === undefined) {
      json = JSON.stringify(value)
      if (Object.isFrozen(value)) this.#written.set(value, json)
    }
    return this.#text(json)
  }

  digest(texts: readonly string[]): string {
    const all = texts.map(text => this.#digestOf(text)).join(' ')
    return sha1(all).slice(0, 12)
  }

  /** A conversation is said again at each step: what was looked at once is not again. */
  #digestOf(text: string): string {
    let digest = this.#digests.get(text)
    if (digest === undefined) {
      digest = sha1(this.#mask(text))
      if (this.#digests.size >= SAID) this.#digests.clear()
      this.#digests.set(text, digest)
    }
    return digest
  }

  #packed(param: unknown): Packed {
    if (typeof param === 'string') return this.#text(param)
    if (param === undefined || param === null) return null
    if (typeof param === 'number') return param
    if (typeof param === 'boolean') return Number(param)
    if (typeof param === 'bigint') return { $n: String(param) }
    return { $b: Buffer.from(param as Uint8Array).toString('base64') }
  }

  #text(text: string): Packed {
    if (text.length < LONG) return text
    const key = sha1(text)
    let known = this.#long.get(key)
    if (known === undefined) {
      known = this.#values++
      if (this.#long.size >= KNOWN) this.#long.clear()
      this.#long.set(key, known)
      this.add(['x', known, text])
    }
    return { $x: known }
  }
}

/** A cycle that is being recorded. */
export class RecordedActor implements Actor {
  over = false
  readonly #tape: TapeRecorder
  readonly #id: number
  #ms: number[] = []
  #micros: number[] = []
  #ids: string[] = []
  #lastMs = 0
  #lastMicros = 0

  /** @param drawn what was drawn last, where it goes on */
  constructor(tape: TapeRecorder, id: number, drawn = { ms: 0, monotonic: 0 }) {
    this.#tape = tape
    this.#id = id
    this.#lastMs = drawn.ms
    this.#lastMicros = Math.round(drawn.monotonic * 1000)
  }

  draw<T extends number | string>(kind: Draw, real: () => T): T {
    const drawn = real()
    this.#tape.drew(this)
    if (kind === 'id') {
      this.#ids.push(drawn as string)
      return drawn
    }
    if (kind === 'ms') {
      this.#ms.push((drawn as number) - this.#lastMs)
      this.#lastMs = drawn as number
      return drawn
    }
    // As fine as it is written down, so that it is the same again.
    const micros = Math.round((drawn as number) * 1000)
    this.#micros.push(micros - this.#lastMicros)
    this.#lastMicros = micros
    return (micros / 1000) as T
  }

  async take<T>(what: string, work: () => Promise<T>, asked?: () => readonly string[]): Promise<T> {
    const tape = this.#tape
    const name = tape.name(what)
    const digest = asked ? tape.digest(asked()) : 0
    try {
      const value = await outside(work)
      tape.add(['v', this.#id, name, digest, tape.value(value)])
      return value
    } catch (error) {
      tape.add(['v', this.#id, name, digest, null, recordOf(error)])
      throw error
    }
  }

  turn<T>(what: string, work: () => T): T {
    const name = this.#tape.name(what)
    try {
      const done = work()
      this.#tape.add(['t', this.#id, name])
      return done
    } catch (error) {
      const record = recordOf(error)
      // A lock that somebody holds: it is tried again.
      if (!/^SQLITE_(BUSY|LOCKED)/.test(String(record.code))) this.#tape.add(['t', this.#id, name, record])
      throw error
    }
  }

  aside(_: string, work: () => Promise<unknown>): Promise<unknown> {
    return outside(work)
  }

  end(): void {
    this.over = true
    this.#tape.add(['e', this.#id])
  }

  /** What was drawn since the last time. */
  drawn(): Entry | undefined {
    if (this.#ms.length + this.#micros.length + this.#ids.length === 0) return undefined
    const entry: Entry = ['d', this.#id, this.#ms, this.#micros, this.#ids]
    this.#ms = []
    this.#micros = []
    this.#ids = []
    return entry
  }
}
