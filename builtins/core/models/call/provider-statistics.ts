import type { Clock } from '#kernel'
import type { Distribution } from '#lib/metric'
import type { ModelError } from '../contract.ts'

/** Upper bounds of the histogram of attempt durations, in seconds, up to the default of `model.total_timeout`. */
const BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 240] as const

/** Outcomes and durations of the attempts at one provider, since this process began. */
export class ProviderStatistics {
  readonly #clock: Clock
  readonly #outcomes = new Map<string, number>()
  readonly #within = new Map<number, number>()
  #sum_ms = 0
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records the beginning of an attempt. @returns a function to call with its outcome */
  begin(): (outcome: ModelError | 'answered' | 'unknown') => void {
    const began = this.#clock.monotonic()
    return outcome => {
      const ms = this.#clock.monotonic() - began
      const bound = BOUNDS.find(each => ms <= each * 1000)
      this.#sum_ms += ms
      this.#count++
      if (bound !== undefined) this.#within.set(bound, (this.#within.get(bound) ?? 0) + 1)
      const name = typeof outcome === 'string' ? outcome : outcome.kind
      this.#outcomes.set(name, (this.#outcomes.get(name) ?? 0) + 1)
    }
  }

  /** Returns the number of attempts by outcome: `answered`, or the kind of failure. */
  outcomes(): readonly (readonly [outcome: string, count: number])[] {
    return [...this.#outcomes]
  }

  durations(): Distribution {
    let upTo = 0
    const buckets = BOUNDS.map(le => {
      upTo += this.#within.get(le) ?? 0
      return [le, upTo] as const
    })
    return { buckets, sum: this.#sum_ms / 1000, count: this.#count }
  }
}
