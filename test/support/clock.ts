import type { Clock } from '#kernel'
import { sleepOn } from '#lib/sleep'

/** Start of every held clock, on the wall clock. */
const BEGIN_MS = Date.UTC(2026, 0, 1)
/** Turns of the real event loop after each timer: enough for a loop to run once and to set its next timer. */
const TURNS = 5
/** Time limit for file operations, in real milliseconds: one on a pipe may never end. */
const FILES_MS = 500

/** Number of calls of `yield` that wait: writes to the database wait for some turns. */
let yielding = 0

interface Timer {
  due: number
  fn: () => void
}

/** Clock under the test's control: it stands still until it is advanced, and then fires due timers in order. */
export class HeldClock implements Clock {
  readonly held = true
  readonly #timers = new Set<Timer>()
  #elapsed = 0
  #skew = 0

  ms(): number {
    // Whole milliseconds, as on a machine.
    return Math.floor(BEGIN_MS + this.#elapsed + this.#skew)
  }

  now(): Date {
    return new Date(this.ms())
  }

  monotonic(): number {
    return this.#elapsed
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { due: this.#elapsed + Math.max(0, ms), fn }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal)
  }

  /** Waits for a turn of the real event loop, which takes no held time. */
  async yield(): Promise<void> {
    yielding++
    await turn()
    yielding--
  }

  /** Timers that are set and have not fired. */
  get pending(): number {
    return this.#timers.size
  }

  /**
   * Lets `ms` pass. Timers fire in order, including those set meanwhile, each followed by some turns of the event loop
   * until file operations end. Network traffic takes no held time and is not waited for: use `until` and
   * `waitUntilIdle` for that.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms
    await turnEventLoop()
    for (let timer = this.#earliest(until); timer; timer = this.#earliest(until)) {
      this.#elapsed = timer.due
      this.#timers.delete(timer)
      timer.fn()
      await turnEventLoop()
    }
    this.#elapsed = until
  }

  /** Sets the wall clock forward or back, as people and time servers do. Timers are not affected. */
  jump(ms: number): void {
    this.#skew += ms
  }

  #earliest(until: number): Timer | undefined {
    let earliest: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.due <= until && (!earliest || timer.due < earliest.due)) earliest = timer
    }
    return earliest
  }
}

export function heldClock(): HeldClock {
  return new HeldClock()
}

/** Waits for one turn of the real event loop. */
export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Waits for some turns of the real event loop in a row without a file operation in flight. */
export async function turnEventLoop(count = TURNS): Promise<void> {
  const until = performance.now() + FILES_MS
  for (let left = count; left > 0; left = filesInFlight() && performance.now() < until ? count : left - 1) await turn()
}

/** Further operations that are waited for as files are, such as those of a database. */
export const waitedFor = new Set<() => boolean>([() => yielding > 0])

/** Returns whether this process waits for the file system. */
export function filesInFlight(): boolean {
  if (process.getActiveResourcesInfo().includes('FSReqPromise')) return true
  for (const waits of waitedFor) if (waits()) return true
  return false
}
