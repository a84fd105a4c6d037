import type { Clock } from '#kernel'

const DAY_MS = 86_400_000
/** Start time of every demo, so that the same seed gives the same dates. */
const BEGIN_MS = Date.UTC(2030, 0, 1)

/** Returns the day of a time on such a clock, from 1. */
export function dayOf(at: string): number {
  return Math.round((Date.parse(at) - BEGIN_MS) / DAY_MS)
}

/** A clock that moves by whole days, on request. Timers, such as limits of model calls, use the machine's time. */
export class DayClock implements Clock {
  readonly #machine: Clock
  #days = 0

  constructor(machine: Clock) {
    this.#machine = machine
  }

  /**
   * Advances the clock by one day.
   * @returns the number of days passed
   */
  nextDay(): number {
    return ++this.#days
  }

  now(): Date {
    return new Date(this.ms())
  }

  ms(): number {
    return BEGIN_MS + this.#days * DAY_MS
  }

  monotonic(): number {
    return this.#days * DAY_MS
  }

  after(ms: number, fn: () => void): () => void {
    return this.#machine.after(ms, fn)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#machine.sleep(ms, signal)
  }

  yield(): Promise<void> {
    return this.#machine.yield()
  }
}
