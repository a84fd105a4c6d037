import type { Clock } from '#kernel'
import { recordingContext, withoutRecording } from '#lib/recording-context'
import { sleepOn } from '#lib/sleep'

interface Timer {
  due: number
  fn: () => void
  cancel: () => void
}

/** Stands still while a recording is repeated; goes on from where it is with the machine's own once the repeating is over. */
export class ReplayClock implements Clock {
  readonly #real: Clock
  readonly #timers = new Set<Timer>()
  #at: number
  #jump = 0
  #base: number | undefined

  /** @param at where it stands, in milliseconds since 1970 */
  constructor(real: Clock, at: number) {
    // It may be the clock of another kernel, from which our recording contexts must not read.
    this.#real = { ...real, monotonic: () => withoutRecording(() => real.monotonic()) }
    this.#at = at
  }

  /** Goes on from where a recording is, on the wall and on the clock that never jumps. */
  start(ms: number, monotonic: number): void {
    if (this.#base !== undefined) return
    this.#at = Math.max(this.#at, ms)
    this.#jump = monotonic - this.#at
    this.#base = this.#real.monotonic()
    for (const timer of this.#timers) this.#arm(timer)
  }

  /** Lets time pass at once. */
  skip(ms: number): void {
    this.#at += Math.max(0, ms)
  }

  ms(): number {
    return Math.round(this.#at + this.#elapsed)
  }

  now(): Date {
    return new Date(this.ms())
  }

  monotonic(): number {
    return this.#at + this.#jump + this.#elapsed
  }

  get #elapsed(): number {
    return this.#base === undefined ? 0 : this.#real.monotonic() - this.#base
  }

  after(ms: number, fn: () => void): () => void {
    const timer: Timer = { due: ms, fn, cancel: () => {} }
    this.#timers.add(timer)
    if (this.#base !== undefined) this.#arm(timer)
    return () => {
      this.#timers.delete(timer)
      timer.cancel()
    }
  }

  /** An actor that waits has waited; what others wait for does not come while time stands still. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return recordingContext() && this.#base === undefined ? this.#real.yield() : sleepOn(this, ms, signal)
  }

  yield(): Promise<void> {
    return this.#real.yield()
  }

  #arm(timer: Timer): void {
    timer.cancel = this.#real.after(timer.due, () => {
      this.#timers.delete(timer)
      timer.fn()
    })
  }
}
