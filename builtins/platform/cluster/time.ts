import type { Clock } from '#kernel'

/** Maximum duration of a time query, in milliseconds; slower answers are too inexact. */
const PROMPT_MS = 200
/** How long a measured offset is used, in milliseconds. */
const GOOD_MS = 1_000

/**
 * The database's clock decides when leases begin and end, whatever the machines' clocks show. This class keeps the
 * offset of this machine's clock. A held clock is used everywhere.
 */
export class DatabaseClock {
  readonly #clock: Clock
  /** Milliseconds by which the database's clock is ahead. */
  #ahead = 0
  #learned = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** SQL expression for the current time, in whole milliseconds. */
  get sql(): string {
    return this.#clock.held
      ? String(this.#clock.ms())
      : 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)'
  }

  /** Returns the current time of the database's clock, in milliseconds. */
  now(): number {
    return this.#clock.ms() + this.#ahead
  }

  /** Converts a time of this machine to the database's clock, and back. */
  toDatabase(ms: number): number {
    return Math.round(ms + this.#ahead)
  }
  fromDatabase(ms: number): number {
    return ms - this.#ahead
  }

  /** Whether the offset must be measured again. */
  get stale(): boolean {
    return !this.#clock.held && this.#clock.monotonic() - this.#learned >= GOOD_MS
  }

  /**
   * Measures the offset if the answer contains a time.
   * @param ask returns the database's time, in milliseconds
   */
  async learn<T extends { at: number | undefined }>(ask: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic()
    const answer = await ask()
    const now = this.#clock.monotonic()
    const took = now - began
    if (answer.at !== undefined && took < PROMPT_MS) {
      this.#ahead = Math.round(answer.at + took / 2 - this.#clock.ms())
      this.#learned = now
    }
    return answer
  }
}
