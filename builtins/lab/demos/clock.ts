import type { Clock } from '#kernel'

const DAY_MS = 86_400_000
/** Where time begins in every demo: the same seed gives the same dates. */
const BEGIN_MS = Date.UTC(2030, 0, 1)

/** The day of a moment on such a clock, from 1. */
export function dayOf(at: string): number {
  return Math.round((Date.parse(at) - BEGIN_MS) / DAY_MS)
}

/** A clock on which only days pass, and those by hand. What waits, such as for a model's answer, waits in the machine's time. */
export class DayClock implements Clock {
  readonly #machine: Clock
  #days = 0

  constructor(machine: Clock) {
    this.#machine = machine
  }

  /** @returns how many have passed */
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
