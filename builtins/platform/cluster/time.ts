import type { Clock } from '#kernel'

/** Slower answers are too inexact, in milliseconds. */
const PROMPT_MS = 200
/** How long an answer is used, in milliseconds. */
const GOOD_MS = 1_000

/**
 * The database's clock decides when leases begin and end, whatever the machines' own clocks say; this keeps the offset
 * of the
 * machine's. A held clock is used everywhere.
 */
export class DatabaseClock {
  readonly #clock: Clock
  /** Milliseconds by which the database is ahead. */
  #ahead = 0
  #learned = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Now, in SQL, as whole milliseconds. */
  get sql(): string {
    return this.#clock.held
      ? String(this.#clock.ms())
      : 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)'
  }

  /** Now, on the database's clock. */
  now(): number {
    return this.#clock.ms() + this.#ahead
  }

  /** A time of this machine on the database's clock, and the other way round. */
  toDatabase(ms: number): number {
    return Math.round(ms + this.#ahead)
  }
  fromDatabase(ms: number): number {
    return ms - this.#ahead
  }

  /** Whether it is time to ask for it again. */
  get stale(): boolean {
    return !this.#clock.held && this.#clock.monotonic() - this.#learned >= GOOD_MS
  }

  /** Learns from an answer, if the time was asked for. @param ask gives the database's time in milliseconds */
  async learn<T extends { at: number | undefined }>(ask: () => Promise<T>): Promise<T> {
    const asked = this.#clock.monotonic()
    const answer = await ask()
    const now = this.#clock.monotonic()
    const took = now - asked
    if (answer.at !== undefined && took < PROMPT_MS) {
      this.#ahead = Math.round(answer.at + took / 2 - this.#clock.ms())
      this.#learned = now
    }
    return answer
  }
}
