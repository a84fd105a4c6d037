import type { Clock } from '#kernel'

/** A time limit that can be restarted and paused. */
export class Countdown {
  readonly #clock: Clock
  readonly #onEnd: () => void
  /** Times in milliseconds on the monotonic clock. */
  #began: number
  #pausedAt = 0
  #ms: number
  #pauses = 0
  #isOver = false
  #cancelTimer: () => void

  constructor(clock: Clock, ms: number, onEnd: () => void) {
    this.#clock = clock
    this.#ms = ms
    this.#onEnd = onEnd
    this.#began = clock.monotonic()
    this.#cancelTimer = clock.after(ms, this.#check)
  }

  /** Starts again. The timer stays: when it fires, the remaining time is checked. */
  restart(ms: number): void {
    this.#began = this.#clock.monotonic()
    if (ms === this.#ms) return
    this.#ms = ms
    this.#cancelTimer()
    this.#check()
  }

  /** Stops the time until the returned function is called; with several pauses, until the last one ends. */
  pause(): () => void {
    if (this.#pauses++ === 0) {
      this.#pausedAt = this.#clock.monotonic()
      this.#cancelTimer()
    }
    return () => {
      if (--this.#pauses > 0) return
      this.#began += this.#clock.monotonic() - this.#pausedAt
      this.#check()
    }
  }

  cancel(): void {
    this.#isOver = true
    this.#cancelTimer()
  }

  readonly #check = (): void => {
    if (this.#isOver || this.#pauses > 0) return
    const left = this.#began + this.#ms - this.#clock.monotonic()
    if (left > 0) {
      this.#cancelTimer = this.#clock.after(left, this.#check)
      return
    }
    this.#isOver = true
    this.#onEnd()
  }
}
