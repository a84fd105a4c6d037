import { defineError, SvcError, sentenceOf } from './errors.ts'

/** So many failures in a row suspend a plugin's code. */
export const FAILURES = 5
/** How long a suspension lasts at first, in milliseconds; it doubles from one to the next. */
const COOL_DOWN_MS = 30_000

export const PluginGoneError = defineError({
  code: 'plugin_gone',
  status: 503,
  title: 'Plugin gone',
  sentence: (p: { plugin: string }) =>
    `The plugin "${p.plugin}" was replaced or removed before this call came to its end.`,
})
export const PluginSuspendedError = defineError({
  code: 'plugin_suspended',
  status: 503,
  title: 'Plugin suspended',
  sentence: (p: { plugin: string; problem: string }) =>
    `The plugin "${p.plugin}" is suspended after ${FAILURES} failures in a row (${p.problem}); it is tried again later, or at once with: svc plugins reload ${p.plugin}`,
})

export interface ActivityParts {
  plugin: string
  /** Milliseconds that never jump. */
  now: () => number
  /** Called with each failure, and with the one that suspends. */
  failed: (what: string, error: unknown, suspended: boolean) => void
  /** Told what code is about to run, and when it gave back control: for whoever watches for endless loops. */
  watch?: (what: string | undefined) => void
}

/** What is running in one version of a plugin, and how well it goes. All of a plugin's code is called through here. */
export class Activity {
  readonly #parts: ActivityParts
  readonly #ended = new Set<() => void>()
  #running = 0
  #failuresInRow = 0
  #suspensions = 0
  #suspendedUntil = 0
  #gate: Promise<void> | undefined
  #gone: unknown
  readonly #waiting = new Set<(error: unknown) => void>()
  /** How often its code was called, and how often that failed. */
  calls = 0
  failures = 0
  /** The last failure, in a sentence. */
  lastFailure: string | null = null

  constructor(parts: ActivityParts) {
    this.#parts = parts
  }

  /** How many calls have not come to their end. */
  get running(): number {
    return this.#running
  }

  get suspended(): boolean {
    return this.#suspendedUntil > this.#parts.now()
  }

  /** Holds calls back until `opened`: for the moment in which the plugin's resources change hands. */
  hold(opened: Promise<void>): void {
    this.#gate = opened.finally(() => {
      this.#gate = undefined
    })
  }

  /** Wraps a function of the plugin so that each of its calls is counted and judged. */
  wrap<A extends unknown[], R>(what: string, fn: (...args: A) => R): (...args: A) => Promise<Awaited<R>> {
    return (...args) => this.call(what, () => fn(...args))
  }

  /** The same for a function whose throws are answers: it is counted as running, and never as failed. */
  track<A extends unknown[], R>(what: string, fn: (...args: A) => R): (...args: A) => Promise<Awaited<R>> {
    return (...args) => this.call(what, () => fn(...args), false)
  }

  /** @throws PluginSuspendedError, PluginGoneError, and what `fn` throws */
  async call<R>(what: string, fn: () => R, judged = true): Promise<Awaited<R>> {
    const { plugin } = this.#parts
    if (this.#gate) await this.#gate
    if (this.#gone) throw this.#gone
    if (this.suspended) throw new PluginSuspendedError({ plugin, problem: this.lastFailure ?? 'failures' })
    this.#running++
    this.calls++
    try {
      const result = await this.#orGone(this.#enter(what, fn))
      this.#failuresInRow = 0
      return result
    } catch (error) {
      // A domain error is an answer, not a failure of the code.
      if (judged && (!(error instanceof SvcError) || error.code === 'time_limit')) this.fail(what, error)
      throw error
    } finally {
      this.#running--
      if (this.#running === 0) for (const ended of this.#ended) ended()
    }
  }

  /** Counts a failure that was noticed elsewhere, such as a rejection that nobody handled. */
  fail(what: string, error: unknown): void {
    this.failures++
    this.lastFailure = `${what}: ${sentenceOf(error)}`
    const suspends = ++this.#failuresInRow >= FAILURES
    if (suspends) {
      this.#failuresInRow = 0
      this.#suspendedUntil = this.#parts.now() + COOL_DOWN_MS * 2 ** this.#suspensions++
    }
    this.#parts.failed(what, error, suspends)
  }

  /** Resolves when nothing runs any more. */
  idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve()
    return new Promise(resolve => {
      const ended = () => {
        this.#ended.delete(ended)
        resolve()
      }
      this.#ended.add(ended)
    })
  }

  /** Ends what still runs, for its callers, with an error; so do later calls that reach this version. */
  dispose(): void {
    const error = new PluginGoneError({ plugin: this.#parts.plugin })
    this.#gone = error
    for (const abandon of this.#waiting) abandon(error)
  }

  /** Takes calls again: this version is back. */
  revive(): void {
    this.#gone = undefined
    this.#failuresInRow = 0
    this.#suspendedUntil = 0
  }

  #enter<R>(what: string, fn: () => R): R {
    this.#parts.watch?.(what)
    try {
      return fn()
    } finally {
      this.#parts.watch?.(undefined)
    }
  }

  /** Waits for the work, or for the end of this version. No promise outlives the call: a race with a lasting one would. */
  async #orGone<R>(work: R): Promise<Awaited<R>> {
    if (!(work instanceof Promise)) return work as Awaited<R>
    let abandon: (error: unknown) => void = () => {}
    const gone = new Promise<never>((_, reject) => {
      abandon = reject
    })
    this.#waiting.add(abandon)
    try {
      return (await Promise.race([work, gone])) as Awaited<R>
    } finally {
      this.#waiting.delete(abandon)
    }
  }
}
