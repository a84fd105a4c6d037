import { type Clock, errorMessage } from '#kernel'

/** Duration of the first suspension, in milliseconds; each further one is twice as long. */
const COOL_DOWN_MS = 30_000
/** Share of failed calls from which on a plugin counts as ailing. */
const HIGH_FAILURE_RATE = 0.25

export interface CircuitBreakerParts {
  clock: Pick<Clock, 'monotonic'>
  /** Number of failures in a row that suspend the plugin. */
  max_failures: number
  /** Returns the place in the plugin's file that an error points at. */
  locate: (error: unknown) => string
  /** Called with each failure. */
  onFailure: (what: string, error: unknown, suspends: boolean) => void
}

/** Counts calls and failures of one version of a plugin, and suspends it after too many failures in a row. */
export class CircuitBreaker {
  readonly #parts: CircuitBreakerParts
  #failuresInRow = 0
  #suspensions = 0
  #suspendedUntil = 0
  calls = 0
  failures = 0
  /** Place and message of the last failure. */
  lastFailure: string | null = null

  constructor(parts: CircuitBreakerParts) {
    this.#parts = parts
  }

  get isSuspended(): boolean {
    return this.#suspendedUntil > this.#parts.clock.monotonic()
  }

  get maxFailures(): number {
    return this.#parts.max_failures
  }

  /** Whether it fails often, even if not many times in a row. */
  get failsOften(): boolean {
    return this.failures >= this.#parts.max_failures && failureRate(this) >= HIGH_FAILURE_RATE
  }

  recordSuccess(): void {
    this.#failuresInRow = 0
  }

  recordFailure(what: string, error: unknown): void {
    this.failures++
    this.lastFailure = `${this.#parts.locate(error)}: ${what}: ${errorMessage(error)}`
    const suspends = ++this.#failuresInRow >= this.#parts.max_failures
    if (suspends) {
      this.#failuresInRow = 0
      this.#suspendedUntil = this.#parts.clock.monotonic() + COOL_DOWN_MS * 2 ** this.#suspensions++
    }
    this.#parts.onFailure(what, error, suspends)
  }

  /** Ends a suspension. */
  reset(): void {
    this.#failuresInRow = 0
    this.#suspendedUntil = 0
  }
}

/** Returns the share of failed calls, from 0 to 1. */
export function failureRate({ calls, failures }: { calls: number; failures: number }): number {
  return failures === 0 ? 0 : failures / Math.max(calls, failures)
}
