import { type Actor, type Asked, type Draw, outside } from '#kernel'
import { MODEL, recordOf } from './entries.ts'
import type { TapeRecorder } from './recorder.ts'

/** They are hardly ever given twice: to look whether they were costs more than to write one of usual length. */
const LONG_ANSWER = 8_000

/** JSON of a list without its brackets, with one more: an array of numbers takes longer to become a text than to be gathered. */
export function listed(json: string, more: number | string): string {
  return json ? `${json},${more}` : `${more}`
}

/** Where an actor stands that goes on: the clocks as it drew them last, and its reads that are not told yet. */
export interface Earlier {
  ms: number
  monotonic: number
  reads: number
}

/** What an actor has asked for. */
interface Taking {
  what: string
  name: number
  digest: number
}

/** A cycle that is being recorded. */
export class RecordedActor implements Actor {
  over = false
  readonly id: number
  readonly #tape: TapeRecorder
  /** What it drew and the tape was not told yet, as JSON without brackets. */
  #ms = ''
  #micros = ''
  #ids = ''
  #lastMs = 0
  #lastMicros = 0
  #timers = 0
  #reads: number
  /** What it has asked for and not been given yet. */
  readonly #waiting: Taking[] = []

  constructor(tape: TapeRecorder, id: number, { ms, monotonic, reads }: Earlier = { ms: 0, monotonic: 0, reads: 0 }) {
    this.#tape = tape
    this.id = id
    this.#lastMs = ms
    this.#lastMicros = Math.round(monotonic * 1000)
    this.#reads = reads
  }

  draw<T extends number | string>(kind: Draw, real: () => T): T {
    const drawn = real()
    if (kind === 'id') {
      this.#ids = listed(this.#ids, JSON.stringify(drawn))
      return drawn
    }
    if (kind === 'ms') {
      this.#ms = listed(this.#ms, (drawn as number) - this.#lastMs)
      this.#lastMs = drawn as number
      return drawn
    }
    // As fine as it is written down, so that it is the same again.
    const micros = Math.round((drawn as number) * 1000)
    this.#micros = listed(this.#micros, micros - this.#lastMicros)
    this.#lastMicros = micros
    return (micros / 1000) as T
  }

  take<T>(what: string, work: () => T | Promise<T>, asked?: () => Asked): T | Promise<T> {
    const tape = this.#tape
    const taking = { what, name: tape.name(what), digest: asked ? tape.digester.of(asked()) : 0 }
    let done: T | Promise<T>
    try {
      done = outside(work)
    } catch (error) {
      throw this.#failed(taking, this.#earlier(taking), error)
    }
    if (!(done instanceof Promise)) return this.#given(taking, this.#earlier(taking), done)
    this.#waiting.push(taking)
    return done.then(
      value => this.#given(taking, this.#waited(taking), value),
      error => {
        throw this.#failed(taking, this.#waited(taking), error)
      },
    )
  }

  /** How many of the same name it asked for earlier and still waits for. */
  #earlier({ name }: Taking, upTo = this.#waiting.length): number {
    let earlier = 0
    for (let at = 0; at < upTo; at++) if (this.#waiting[at]!.name === name) earlier++
    return earlier
  }

  /** It waits no longer. @returns how many of the same name it asked for earlier and still waits for */
  #waited(taking: Taking): number {
    const at = this.#waiting.indexOf(taking)
    const earlier = this.#earlier(taking, at)
    this.#waiting.splice(at, 1)
    return earlier
  }

  #given<T>(taking: Taking, earlier: number, value: T): T {
    const long = taking.what === MODEL ? LONG_ANSWER : undefined
    this.#tell(taking, earlier, this.#tape.value(value, long), '')
    return value
  }

  #failed(taking: Taking, earlier: number, error: unknown): unknown {
    this.#tell(taking, earlier, 'null', JSON.stringify(recordOf(error)))
    return error
  }

  #tell({ what, name, digest }: Taking, earlier: number, value: string, failure: string): void {
    if (what === MODEL) this.#tape.counts.steps++
    if (value === 'null' && !digest && !failure && earlier === 0) {
      this.#tape.nothing(this.id, name)
      return
    }
    const tail = earlier > 0 ? `,${failure || 'null'},${earlier}` : failure && `,${failure}`
    this.#comes(`["v",${this.id},${name},${digest},${value}${tail}]`)
  }

  /** Something from outside, as JSON. */
  #comes(json: string): void {
    this.#tape.readBefore(this)
    this.#tape.line(json)
  }

  turn<T>(what: string, work: () => T): T {
    try {
      const done = work()
      this.#tape.turn(this.id, this.#tape.name(what))
      return done
    } catch (error) {
      throw this.#fails(what, error)
    }
  }

  read<T>(what: string, work: () => T): T {
    try {
      const done = work()
      this.#reads++
      return done
    } catch (error) {
      throw this.#fails(what, error)
    }
  }

  /** How many reads it has had since it was last asked. */
  readsSince(): number {
    const reads = this.#reads
    this.#reads = 0
    return reads
  }

  #fails(what: string, error: unknown): unknown {
    const record = recordOf(error)
    // A lock that somebody holds: it is tried again.
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String(record.code))) this.#tape.turn(this.id, this.#tape.name(what), record)
    return error
  }

  timer(fn: () => void): () => void {
    const n = this.#timers++
    return () => {
      if (!this.over) this.#comes(`["f",${this.id},${n}]`)
      fn()
    }
  }

  aside<T>(_: string, work: () => T | Promise<T>): T | Promise<T> {
    return outside(work)
  }

  end(): void {
    this.over = true
    this.#tape.ended(this)
    this.tellDrawn()
    this.#tape.line(`["e",${this.id}]`)
  }

  /** Tells the tape what was drawn since the last time. */
  tellDrawn(): void {
    if (!this.#ms && !this.#micros && !this.#ids) return
    this.#tape.line(`["d",${this.id},[${this.#ms}],[${this.#micros}],[${this.#ids}]]`)
    this.#ms = ''
    this.#micros = ''
    this.#ids = ''
  }
}
