import type { Clock } from '#kernel'
import { sleepOn } from '#lib/sleep'
import type { Dice } from './dice.ts'

/** Start of every simulated run, on the wall clock. */
const BEGIN_MS = Date.UTC(2026, 0, 1)
/**
 * Number of timers between two turns of the machine's own event loop, in which a waiting caller may stop the
 * simulation.
 */
const TURN_EVERY = 500
/** Rounds of the tick queue after each timer. One empties the promise queue; the others are for Node's own ticks. */
const ROUNDS = 3

interface Timer {
  due: number
  /** Random order among timers of the same moment, so that nothing relies on the order of registration. */
  tie: number
  fn: () => void
  set: boolean
}

/** The time of a simulated run. It moves only when nothing is left to do, and then to the next timer. */
export class SimulatedTime {
  /** Called whenever the simulation is at rest, before time advances. */
  onRest: () => void = () => {}
  /** Called with the error that a timer threw. */
  onError: (error: unknown) => void = error => {
    throw error
  }
  /** Waits for a turn of the machine's own event loop. */
  onTurn: () => Promise<void> = async () => {}
  readonly #dice: Dice
  readonly #heap: Timer[] = []
  #elapsed = 0
  #skew = 0
  #pending = 0
  #timers = 0

  constructor(dice: Dice) {
    this.#dice = dice
  }

  /** Milliseconds since the run began. */
  get elapsed(): number {
    return this.#elapsed
  }

  /** Milliseconds since 1970, on the wall clock. */
  get wall(): number {
    return BEGIN_MS + Math.floor(this.#elapsed) + this.#skew
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#pending
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { due: this.#elapsed + Math.max(0, ms), tie: this.#dice.next(), fn, set: true }
    this.#push(timer)
    this.#pending++
    return () => {
      if (timer.set) this.#pending--
      timer.set = false
    }
  }

  /** Sets the wall clock forward or back, as people and time servers do. */
  jump(ms: number): void {
    this.#skew += ms
  }

  /** Returns the clock of one process. Its timers never fire once `alive` returns false. */
  clockFor(alive: () => boolean): Clock {
    const clock: Clock = {
      now: () => new Date(this.wall),
      ms: () => this.wall,
      monotonic: () => this.#elapsed,
      after: (ms, fn) => this.after(ms, () => (alive() ? fn() : undefined)),
      sleep: (ms, signal) => sleepOn(clock, ms, signal),
      yield: () => new Promise(resolve => clock.after(0, resolve)),
    }
    return clock
  }

  /**
   * Runs everything that needs no time, then lets time pass, until `isDone` or `until` (in milliseconds of the run).
   */
  async run(until: number, isDone: () => boolean = () => false): Promise<void> {
    await rest()
    this.onRest()
    while (!isDone()) {
      const timer = this.#next()
      if (!timer || timer.due > until) break
      this.#pop()
      if (!timer.set) continue
      timer.set = false
      this.#pending--
      this.#elapsed = timer.due
      try {
        timer.fn()
      } catch (error) {
        this.onError(error)
      }
      await rest()
      this.onRest()
      if (++this.#timers % TURN_EVERY === 0) await this.onTurn()
    }
    if (!isDone() && Number.isFinite(until)) this.#elapsed = Math.max(this.#elapsed, until)
  }

  #next(): Timer | undefined {
    while (this.#heap[0] && !this.#heap[0].set) this.#pop()
    return this.#heap[0]
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let at = heap.push(timer) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isSooner(timer, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = timer
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isSooner(heap[below + 1]!, heap[below]!)) below++
      if (!isSooner(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
  }
}

function isSooner(a: Timer, b: Timer): boolean {
  return a.due < b.due || (a.due === b.due && a.tie < b.tie)
}

/** Resolves when no promise is left to settle. Node runs its ticks only after all of them. */
async function rest(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await new Promise<void>(resolve => process.nextTick(resolve))
}
