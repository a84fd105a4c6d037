import {
  type NondeterministicValue,
  type RecordedQuestion,
  type RecordingContext,
  withoutRecording,
} from '#lib/recording-context'
import { MODEL, recordOf } from './entries.ts'
import type { DeferredEntry, Recorder } from './recorder.ts'

/** State of a context that continues: the last values of its clocks, and its number of unrecorded reads. */
export interface ContextState {
  ms: number
  monotonic: number
  reads: number
}

/** An input that a context has requested. */
interface InputRequest {
  what: string
  name: number
  question: RecordedQuestion | undefined
}

/** A cycle that is being recorded. */
export class RecordedContext implements RecordingContext {
  over = false
  readonly id: number
  readonly #recorder: Recorder
  /** Nondeterministic values that were read and are not recorded yet. */
  #ms: number[] = []
  #micros: number[] = []
  #ids: string[] = []
  #lastMs = 0
  #lastMicros = 0
  #timers = 0
  #reads: number
  /** Requested inputs that have not arrived yet. */
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

  readValue<T extends number | string>(kind: NondeterministicValue, real: () => T): T {
    const value = real()
    if (kind === 'id') {
      this.#ids.push(value as string)
      return value
    }
    if (kind === 'ms') {
      this.#ms.push((value as number) - this.#lastMs)
      this.#lastMs = value as number
      return value
    }
    // Rounded to the recorded precision, so that a replay returns the same value.
    const micros = Math.round((value as number) * 1000)
    this.#micros.push(micros - this.#lastMicros)
    this.#lastMicros = micros
    return (micros / 1000) as T
  }

  take<T>(what: string, work: () => T | Promise<T>, question?: () => RecordedQuestion): T | Promise<T> {
    const recorder = this.#recorder
    // The caller may modify the list afterwards.
    const taking = { what, name: recorder.name(what), question: question && [...question()] }
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

  /** Returns the number of earlier requests of the same name that are still waiting. */
  #earlier({ name }: InputRequest, upTo = this.#waiting.length): number {
    let earlier = 0
    for (let at = 0; at < upTo; at++) if (this.#waiting[at]!.name === name) earlier++
    return earlier
  }

  /**
   * Removes a request from the waiting ones.
   * @returns the number of earlier requests of the same name that are still waiting
   */
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
    { what, name, question }: InputRequest,
    earlier: number,
    value: string | DeferredEntry,
    failure: string,
  ): void {
    const recorder = this.#recorder
    if (what === MODEL) recorder.counts.steps++
    if (value === 'null' && !question && !failure && earlier === 0) {
      recorder.recordNoResult(this.id, name)
      return
    }
    const tail = earlier > 0 ? `,${failure || 'null'},${earlier}` : failure && `,${failure}`
    this.#recordEntry(before => {
      const digest = question ? recorder.digester.of(question) : 0
      return `["v",${this.id},${name},${digest},${typeof value === 'string' ? value : value(before)}${tail}]`
    })
  }

  /** Records an input from outside, or a fired timer. */
  #recordEntry(entry: string | DeferredEntry): void {
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

  /** Returns the number of reads since the last call. */
  readsSince(): number {
    const reads = this.#reads
    this.#reads = 0
    return reads
  }

  #fails(what: string, error: unknown): unknown {
    const record = recordOf(error)
    // The lock is held by another process; the call is retried.
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String(record.code)))
      this.#recorder.turn(this.id, this.#recorder.name(what), record)
    return error
  }

  timer(fn: () => void): () => void {
    const n = this.#timers++
    return () => {
      if (!this.over) this.#recordEntry(`["f",${this.id},${n}]`)
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

  /** Records the nondeterministic values that were read since the last call. */
  writeReadValues(): void {
    const values = [this.#ms, this.#micros, this.#ids]
    if (values.every(each => each.length === 0)) return
    this.#recorder.line(() => JSON.stringify(['d', this.id, ...values]))
    this.#ms = []
    this.#micros = []
    this.#ids = []
  }
}
