import { type Clock, type Contribution, errorMessage, type Log, type Points, type Undo } from '#kernel'
import { type Scheduler, type WakeSource, WakeSources } from './contract.ts'

/** Minimum time between two wakes, in milliseconds. */
const GAP_MS = 250
/** Number of failures in a row after which a wake source is dropped. */
const SOURCE_FAILURES = 5

export interface WakerParts {
  points: Points
  clock: Clock
  log: Log
  scheduler: () => Scheduler
}

/** Waits for all wake sources and combines their wakes: the first passes at once, further ones after the gap. */
export class Waker {
  readonly #parts: WakerParts
  readonly #stop = new AbortController()
  /** Agents and reasons of the next wake. */
  readonly #agents = new Set<string>()
  readonly #reasons = new Set<string>()
  #all = false
  #waking: Promise<void> | undefined
  #last = Number.NEGATIVE_INFINITY

  constructor(parts: WakerParts) {
    this.#parts = parts
  }

  /** Keeps one waiting loop for each wake source, also for those that are added later. */
  follow(): Undo {
    const { points } = this.#parts
    const watched = new Map<Contribution<WakeSource>, AbortController>()
    const follow = () => {
      const sources = new Set(points.list(WakeSources))
      for (const [source, stop] of watched) {
        if (sources.has(source)) continue
        watched.delete(source)
        stop.abort()
      }
      for (const source of sources) {
        if (watched.has(source)) continue
        const stop = new AbortController()
        watched.set(source, stop)
        void this.#listen(source, stop.signal)
      }
    }
    follow()
    const unfollow = points.onChange(WakeSources as never, follow)
    return () => {
      void unfollow()
      this.#stop.abort()
      for (const stop of watched.values()) stop.abort()
    }
  }

  async #listen({ owner: plugin, value: source }: Contribution<WakeSource>, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#parts
    let failures = 0
    while (!signal.aborted) {
      try {
        const wake = await source.wait(signal)
        if (signal.aborted) return
        this.#take(wake)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        log.warn({ plugin }, `wake source "${source.name}" failed: ${errorMessage(error)}`)
        if (++failures === SOURCE_FAILURES) {
          log.error({ plugin }, `wake source "${source.name}" failed ${failures} times in a row and is no longer used`)
          return
        }
      }
      await this.#waking
      // A source that always answers at once must not spin the loop; one that fails for a while must not be lost.
      await clock.sleep(GAP_MS * 2 ** failures, signal)
    }
  }

  /**
   * Adds a wake to the next one.
   * @throws TypeError for an invalid wake
   */
  #take(wake: unknown): void {
    const { reason, agents } = typeof wake === 'string' ? { reason: wake } : (Object(wake) as Record<string, unknown>)
    if (typeof reason !== 'string' || !(agents === undefined || isTexts(agents)))
      throw new TypeError('a wake must be a string with the reason, or { reason, agents } with an array of agent ids')
    this.#reasons.add(reason)
    if (agents) for (const agent of agents) this.#agents.add(agent)
    else this.#all = true
    this.#waking ??= this.#wake()
  }

  /** Wakes the scheduler. While the store cannot be written to, the wake is kept and tried again. */
  async #wake(): Promise<void> {
    const { clock, log, scheduler } = this.#parts
    while (!this.#stop.signal.aborted) {
      const rest = this.#last + GAP_MS - clock.monotonic()
      if (rest > 0) await clock.sleep(rest, this.#stop.signal)
      if (this.#stop.signal.aborted) return
      this.#last = clock.monotonic()
      const agents = this.#all ? undefined : [...this.#agents]
      const reason = [...this.#reasons].join(', ')
      this.#all = false
      this.#agents.clear()
      this.#reasons.clear()
      try {
        await scheduler().wake(agents, reason)
        if (this.#reasons.size > 0) continue
        this.#waking = undefined
        return
      } catch (error) {
        log.warn({}, `a wake (${reason}) failed and is tried again: ${errorMessage(error)}`)
        this.#reasons.add(reason)
        if (agents) for (const agent of agents) this.#agents.add(agent)
        else this.#all = true
      }
    }
  }
}

function isTexts(given: unknown): given is string[] {
  return Array.isArray(given) && given.every(each => typeof each === 'string')
}
