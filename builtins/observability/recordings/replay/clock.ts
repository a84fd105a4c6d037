import type { Clock } from '#kernel'
import { recordingContext, withoutRecording } from '#lib/recording-context'
import { sleepOn } from '#lib/sleep'

interface Timer {
  due: number
  fn: () => void
  cancel: () => void
}

/** Clock that stands still during a replay and continues with the machine's clock afterwards. */
export class ReplayClock implements Clock {
  readonly #real: Clock
  readonly #timers = new Set<Timer>()
  #at: number
  #jump = 0
  #base: number | undefined

  /** @param at initial time, in milliseconds since 1970 */
  constructor(real: Clock, at: number) {
    // The clock may belong to another kernel, which must not count the read as one of our recording contexts.
    this.#real = { ...real, monotonic: () => withoutRecording(() => real.monotonic()) }
    this.#at = at
  }

  /** Sets both clocks to the end of the recording and lets them run. */
  start(ms: number, monotonic: number): void {
    if (this.#base !== undefined) return
    this.#at = Math.max(this.#at, ms)
    this.#jump = monotonic - this.#at
    this.#base = this.#real.monotonic()
    for (const timer of this.#timers) this.#arm(timer)
  }

  /** Moves time forward at once. */
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

  /** In a replay, waiting ends at once for recording contexts and never for others. */
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
