import { type Clock, type Log, z } from '#kernel'
import { ModelError } from '../contract.ts'
import { ProviderStatistics } from './provider-statistics.ts'

/** Interval at which waiting calls are checked, in milliseconds. */
const CHECK_MS = 2_000

export interface GovernorSettings {
  /** Maximum number of concurrent attempts; 0 sets no limit. */
  max_concurrent: number
  /** Number of failed attempts in a row after which the breaker opens; 0 never opens it. */
  breaker_failures: number
  /** Time for which the breaker stays open, in seconds; then one trial attempt is made. */
  breaker_cooldown: number
}

export const GovernorState = z.object({
  breaker: z
    .enum(['closed', 'open', 'half_open'])
    .describe('`open`: suspended after failures; `half_open`: the next attempt is a trial'),
  failures: z.int().describe('Number of consecutive failed attempts'),
  last_failure: z.string().nullable(),
  retry_in_ms: z.int().nullable().describe('Milliseconds until an open breaker lets a call through'),
  backing_off_ms: z.int().describe('Milliseconds until an overloaded provider may be called again'),
  in_flight: z.int(),
  waiting: z.int(),
  max_concurrent: z.int().describe('Maximum number of concurrent attempts; 0 sets no limit'),
})
export type GovernorState = z.infer<typeof GovernorState>

/** What concerns a call while it waits for others because of `max_concurrent`. */
export interface Queue {
  /** Called when the call begins to wait; its result, when that ends. */
  onWait(): () => void
  /** Called from time to time; throws when the call is no longer to be made. */
  check(): Promise<unknown>
}

/** How an attempt ended; `unknown` says nothing about the provider. */
export type Outcome = ModelError | 'answered' | 'unknown'

/** Permission to make one attempt. */
export interface Pass {
  /** Records that the provider has begun to answer, so it accepts requests again. */
  recordAccepted(): void
  /** Ends the attempt. `wait_ms` is the pause that an overloaded provider asks for. */
  leave(outcome: Outcome, wait_ms?: number): void
}

/**
 * Admits all calls of this process to one provider. An overloaded provider gets a pause from all callers, then one
 * trial call before all others; one that keeps failing is not called for a while, then also by one trial call
 * (https://martinfowler.com/bliki/CircuitBreaker.html).
 */
export class Governor {
  readonly provider: string
  readonly measured: ProviderStatistics
  readonly #clock: Clock
  readonly #log: Log
  readonly #settings: GovernorSettings
  #failures = 0
  #lastFailure: string | null = null
  /** Time in milliseconds on the monotonic clock, like all times here. */
  #openUntil = Number.NEGATIVE_INFINITY
  #notBefore = Number.NEGATIVE_INFINITY
  /** Whether the next attempt is a trial, for whose outcome the others wait. */
  #wary = false
  /** The trial attempt in progress. */
  #trial: Pass | undefined
  #inFlight = 0
  #waiting = 0
  #changed: (() => void)[] = []

  constructor(provider: string, settings: GovernorSettings, parts: { clock: Clock; log: Log }) {
    this.provider = provider
    this.#settings = settings
    this.#clock = parts.clock
    this.#log = parts.log
    this.measured = new ProviderStatistics(parts.clock)
  }

  state(): GovernorState {
    const now = this.#clock.monotonic()
    const breaker = this.#breaker
    return {
      breaker,
      failures: this.#failures,
      last_failure: this.#lastFailure,
      retry_in_ms: breaker === 'open' ? Math.round(this.#openUntil - now) : null,
      backing_off_ms: Math.max(0, Math.round(this.#notBefore - now)),
      in_flight: this.#inFlight,
      waiting: this.#waiting,
      max_concurrent: this.#settings.max_concurrent,
    }
  }

  /**
   * Waits until an attempt may be made.
   * @throws ModelError at once while the breaker is open; the signal's reason; what `queue.check` throws
   */
  async enter(model: string, signal: AbortSignal, queue: Queue): Promise<Pass> {
    this.#waiting++
    try {
      for (;;) {
        signal.throwIfAborted()
        this.#refuseWhileOpen(model)
        const wait_ms = this.#notBefore - this.#clock.monotonic()
        if (wait_ms > 0) await this.#clock.sleep(wait_ms, signal)
        else if (this.#isFull) {
          const leave = queue.onWait()
          await this.#changeWhileChecked(signal, queue.check).finally(leave)
        } else if (this.#wary && this.#trial) await this.#change(signal)
        else return this.#begin()
      }
    } finally {
      this.#waiting--
    }
  }

  get #breaker(): GovernorState['breaker'] {
    const { breaker_failures } = this.#settings
    if (breaker_failures === 0 || this.#failures < breaker_failures) return 'closed'
    return this.#clock.monotonic() < this.#openUntil ? 'open' : 'half_open'
  }

  #refuseWhileOpen(model: string): void {
    const breaker = this.#breaker
    if (breaker === 'closed' || (breaker === 'half_open' && !this.#trial)) return
    const left_s = Math.max(1, Math.ceil((this.#openUntil - this.#clock.monotonic()) / 1000))
    // Without counts and times: agents keep the reason, and those with the same one are shown together.
    const problem = `${this.provider} is suspended after repeated failures (the last: ${this.#lastFailure}); svc models shows when it is tried again`
    throw new ModelError({ model, problem }, { retryAfter: left_s, kind: 'resting', transient: false, billed: false })
  }

  get #isFull(): boolean {
    const { max_concurrent } = this.#settings
    return max_concurrent > 0 && this.#inFlight >= max_concurrent
  }

  #begin(): Pass {
    const done = this.measured.begin()
    let over = false
    this.#inFlight++
    const pass: Pass = {
      recordAccepted: () => {
        if (over || this.#breaker !== 'closed') return
        if (this.#trial === pass) this.#trial = undefined
        this.#relax()
      },
      leave: (outcome, wait_ms = 0) => {
        if (over) return
        over = true
        this.#inFlight--
        if (this.#trial === pass) this.#trial = undefined
        done(outcome)
        this.#learn(outcome, wait_ms)
        this.#reportWaiting()
      },
    }
    if (this.#wary || this.#breaker !== 'closed') this.#trial = pass
    return pass
  }

  #learn(outcome: Outcome, wait_ms: number): void {
    if (outcome === 'unknown') return
    if (outcome === 'answered' || !outcome.transient) {
      // A refusal is an answer too, so the provider works.
      if (outcome === 'answered' || outcome.kind !== 'stopped') this.#recover()
      return
    }
    if (outcome.kind === 'loading') this.#recover()
    this.#lastFailure = outcome.problem
    if (outcome.kind === 'loading') return
    if (outcome.kind === 'rate_limited' || outcome.kind === 'overloaded') {
      this.#notBefore = Math.max(this.#notBefore, this.#clock.monotonic() + wait_ms)
      this.#wary = true
    }
    if (outcome.kind !== 'rate_limited') this.#fail(outcome)
  }

  #fail({ problem }: ModelError): void {
    const { breaker_failures, breaker_cooldown } = this.#settings
    this.#failures++
    if (breaker_failures === 0 || this.#failures < breaker_failures) return
    const opens = this.#clock.monotonic() >= this.#openUntil
    this.#openUntil = this.#clock.monotonic() + breaker_cooldown * 1000
    if (!opens) return
    this.#log.warn(
      { code: 'model_breaker_open' },
      `${this.provider} failed ${this.#failures} times in a row (${problem}); it is suspended for ${breaker_cooldown} s.`,
    )
  }

  #recover(): void {
    if (this.#breaker !== 'closed') {
      this.#log.info({ code: 'model_breaker_closed' }, `${this.provider} answers again.`)
    }
    this.#failures = 0
    this.#lastFailure = null
    this.#openUntil = Number.NEGATIVE_INFINITY
    this.#relax()
  }

  #relax(): void {
    if (!this.#wary) return
    this.#wary = false
    this.#reportWaiting()
  }

  /** Wakes waiting calls in the order of their arrival, so that each checks again. */
  #reportWaiting(): void {
    for (const tell of this.#changed.splice(0)) tell()
  }

  /** Waits for a change, and checks meanwhile whether the call is still wanted. */
  async #changeWhileChecked(signal: AbortSignal, check: Queue['check']): Promise<void> {
    const over = new AbortController()
    const changed = this.#change(signal).then(() => over.abort())
    while (!over.signal.aborted) {
      await Promise.race([changed, this.#clock.sleep(CHECK_MS, over.signal)])
      if (!over.signal.aborted) await check()
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const notifyWaiting = () => {
        signal.removeEventListener('abort', notifyWaiting)
        resolve()
      }
      this.#changed.push(notifyWaiting)
      signal.addEventListener('abort', notifyWaiting, { once: true })
    })
  }
}
