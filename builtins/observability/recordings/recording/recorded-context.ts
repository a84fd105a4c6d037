import {
  type NondeterministicValue,
  type RecordedQuestion,
  type RecordingContext,
  withoutRecording,
} from '#lib/recording-context'
import { MODEL, recordOf } from './entries.ts'
import type { DeferredEntry, Recorder } from './recorder.ts'

/** State of a context that continues: the clocks as it last read them, and its reads that are not recorded yet. */
export interface ContextState {
  ms: number
  monotonic: number
  reads: number
}

/** What an actor has asked for. */
interface InputRequest {
  what: string
  name: number
  asked: RecordedQuestion | undefined
}

/** A cycle that is being recorded. */
export class RecordedContext implements RecordingContext {
  over = false
  readonly id: number
  readonly #recorder: Recorder
  /** What it read and has not recorded yet. */
  #ms: number[] = []
  #micros: number[] = []
  #ids: string[] = []
  #lastMs = 0
  #lastMicros = 0
  #timers = 0
  #reads: number
  /** What it has asked for and not been given yet. */
  readonly #waiting: InputRequest[] = []

  constructor(
    recorder: Recorder,
    id: number,
    { ms, monotonic, reads }: ContextState = { ms: 0, monotonic: 0, reads: 0 },
  ) {
    this.#recorder = recorder
    this.id = id
    this.#lastMs = ms
    this.#lastMicros = Math.round(monotonic * 1000)
    this.#reads = reads
  }

  draw<T extends number | string>(kind: NondeterministicValue, real: () => T): T {
    const drawn = real()
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

  take<T>(what: string, work: () => T | Promise<T>, asked?: () => RecordedQuestion): T | Promise<T> {
    const recorder = this.#recorder
    // The caller may change the list that it asked with.
    const taking = { what, name: recorder.name(what), asked: asked && [...asked()] }
    let done: T | Promise<T>
    try {
      done = withoutRecording(work)
    } catch (error) {
      throw this.#recordError(taking, this.#earlier(taking), error)
    }
    if (!(done instanceof Promise)) return this.#recordValue(taking, this.#earlier(taking), done)
    this.#waiting.push(taking)
    return done.then(
      value => this.#recordValue(taking, this.#stopWaiting(taking), value),
      error => {
        throw this.#recordError(taking, this.#stopWaiting(taking), error)
      },
    )
  }

  /** How many of the same name it asked for earlier and still waits for. */
  #earlier({ name }: InputRequest, upTo = this.#waiting.length): number {
    let earlier = 0
    for (let at = 0; at < upTo; at++) if (this.#waiting[at]!.name === name) earlier++
    return earlier
  }

  /** It waits no longer. @returns how many of the same name it asked for earlier and still waits for */
  #stopWaiting(taking: InputRequest): number {
    const at = this.#waiting.indexOf(taking)
    const earlier = this.#earlier(taking, at)
    this.#waiting.splice(at, 1)
    return earlier
  }

  #recordValue<T>(taking: InputRequest, earlier: number, value: T): T {
    const recorder = this.#recorder
    this.#writeInput(taking, earlier, taking.what === MODEL ? recorder.answer(value) : recorder.value(value), '')
    return value
  }

  #recordError(taking: InputRequest, earlier: number, error: unknown): unknown {
    this.#writeInput(taking, earlier, 'null', JSON.stringify(recordOf(error)))
    return error
  }

  #writeInput(
    { what, name, asked }: InputRequest,
    earlier: number,
    value: string | DeferredEntry,
    failure: string,
  ): void {
    const recorder = this.#recorder
    if (what === MODEL) recorder.counts.steps++
    if (value === 'null' && !asked && !failure && earlier === 0) {
      recorder.recordNoResult(this.id, name)
      return
    }
    const tail = earlier > 0 ? `,${failure || 'null'},${earlier}` : failure && `,${failure}`
    this.#comes(before => {
      const digest = asked ? recorder.digester.of(asked) : 0
      return `["v",${this.id},${name},${digest},${typeof value === 'string' ? value : value(before)}${tail}]`
    })
  }

  /** Something from outside. */
  #comes(entry: string | DeferredEntry): void {
    this.#recorder.readBefore(this)
    this.#recorder.line(entry)
  }

  turn<T>(what: string, work: () => T): T {
    try {
      const done = work()
      this.#recorder.turn(this.id, this.#recorder.name(what))
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
    // Another process holds the lock: it is tried again.
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String(record.code)))
      this.#recorder.turn(this.id, this.#recorder.name(what), record)
    return error
  }

  timer(fn: () => void): () => void {
    const n = this.#timers++
    return () => {
      if (!this.over) this.#comes(`["f",${this.id},${n}]`)
      fn()
    }
  }

  sideChannel<T>(_: string, work: () => T | Promise<T>): T | Promise<T> {
    return withoutRecording(work)
  }

  end(): void {
    this.over = true
    this.#recorder.closeContext(this)
    this.writeReadValues()
    this.#recorder.line(`["e",${this.id}]`)
  }

  /** Records what was read since the last time. */
  writeReadValues(): void {
    const drawn = [this.#ms, this.#micros, this.#ids]
    if (drawn.every(each => each.length === 0)) return
    this.#recorder.line(() => JSON.stringify(['d', this.id, ...drawn]))
    this.#ms = []
    this.#micros = []
    this.#ids = []
  }
}
