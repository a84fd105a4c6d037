import { defineError, SvcError, sentenceOf, TimeLimitError } from './errors.ts'
import type { Clock } from './ports.ts'

/** How long a suspension lasts at first, in milliseconds; it doubles from one to the next. */
const COOL_DOWN_MS = 30_000
/** From this share of failed calls on, code is ailing. */
const AILING = 0.25

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
  // Its last failure may tell of this machine or of data: svc plugins shows it.
  sentence: (p: { plugin: string; failures: number }) =>
    `The plugin "${p.plugin}" is suspended after ${p.failures} failures in a row; svc plugins says what failed. It is tried again later, or at once with: svc plugins reload ${p.plugin}`,
})

export interface ActivityParts {
  plugin: string
  /** So many failures in a row suspend its code. */
  max_failures: number
  clock: Pick<Clock, 'monotonic' | 'after'>
  /** The place in the plugin's file that an error points at. */
  where: (error: unknown) => string
  /** Called with each failure, and with the one that suspends. */
  failed: (what: string, error: unknown, suspended: boolean) => void
  /** What is live under the plugin's name now: calls that come too late for this version go there. */
  heir: () => Activity | undefined
  /** Told what code is about to run, and when it gave back control: for whoever watches for endless loops. */
  watch: (what: string | undefined) => void
}

export interface CallOptions<A extends unknown[]> {
  /** Tells the errors that are no failure of the code from those that are; an SvcError is never one. */
  expected?: (error: unknown, ...args: A) => boolean
  /** How long one call may take, in milliseconds; waiting at the gate does not count. */
  limit_ms?: number
  /** Checks arguments that were made for another version. @throws when they do not fit this one */
  fit?: (...args: A) => A
  /** It answers with a stream, and runs until that has ended. */
  streams?: boolean
}

type Code = (...args: unknown[]) => Promise<unknown>

/** What is running in one version of a plugin, and how well it goes. All of a plugin's code is called through here. */
export class Activity {
  readonly #parts: ActivityParts
  /** What `setup` declared, by what it is: the same thing of another version has the same name. */
  readonly #code = new Map<string, Code>()
  readonly #ended = new Set<() => void>()
  readonly #waiting = new Set<(error: unknown) => void>()
  #running = 0
  #failuresInRow = 0
  #suspensions = 0
  #suspendedUntil = 0
  #gate: Promise<void> | undefined
  #shown = false
  #sealed = false
  /** How often its code was called, and how often that failed. */
  calls = 0
  failures = 0
  /** The last failure: its place and what it was. */
  lastFailure: string | null = null

  constructor(parts: ActivityParts) {
    this.#parts = parts
  }

  /** How many calls have not come to their end. */
  get running(): number {
    return this.#running
  }

  get suspended(): boolean {
    return this.#suspendedUntil > this.#parts.clock.monotonic()
  }

  /** The share of its calls that failed, from 0 to 1. */
  get failureRate(): number {
    return this.failures === 0 ? 0 : this.failures / Math.max(this.calls, this.failures)
  }

  /** Whether it fails often, without failing each time. */
  get ailing(): boolean {
    return this.failures >= this.#parts.max_failures && this.failureRate >= AILING
  }

  /** Holds calls back until the result is called: for the moment in which the plugin's resources change hands. */
  hold(): () => void {
    let open = () => {}
    this.#gate = new Promise(resolve => {
      open = () => {
        this.#gate = undefined
        resolve()
      }
    })
    return open
  }

  /**
   * Wraps a function of the plugin so that each of its calls is counted and judged. Once another version is live, a call
   * that comes late, out of something that began before, runs the same thing of that one.
   * @returns a function that throws PluginSuspendedError, PluginGoneError, TimeLimitError, and what `fn` throws
   */
  wrap<A extends unknown[], R>(
    what: string,
    fn: (...args: A) => R,
    options: CallOptions<A> = {},
  ): (...args: A) => Promise<Awaited<R>> {
    let key = what
    for (let n = 2; this.#code.has(key); n++) key = `${what} ${n}`
    const call = (...args: A): Promise<Awaited<R>> => this.#call(key, what, fn, args, options)
    const late = async (...args: A) => call(...(options.fit?.(...args) ?? args))
    if (!this.#sealed) this.#code.set(key, late as unknown as Code)
    return call
  }

  /** Runs code that is not counted, such as what waits for long, when the plugin's resources are there. */
  async pass<R>(what: string, fn: () => R): Promise<Awaited<R>> {
    if (this.#gate) await this.#gate
    return await this.enter(what, fn)
  }

  /** Runs code, and tells who watches until it gives back control. */
  enter<R>(what: string, fn: () => R): R {
    this.#parts.watch(what)
    try {
      return fn()
    } finally {
      this.#parts.watch(undefined)
    }
  }

  async #call<A extends unknown[], R>(
    key: string,
    what: string,
    fn: (...args: A) => R,
    args: A,
    { expected, limit_ms, streams }: CallOptions<A>,
  ): Promise<Awaited<R>> {
    if (this.#gate) await this.#gate
    const { plugin, max_failures: failures } = this.#parts
    if (!this.#shown) {
      const heir = this.#parts.heir()
      const code = heir && heir !== this ? heir.#code.get(key) : undefined
      if (!code) throw new PluginGoneError({ plugin })
      return (await code(...args)) as Awaited<R>
    }
    if (this.suspended) throw new PluginSuspendedError({ plugin, failures })
    this.#running++
    this.calls++
    let follows = false
    try {
      const result = await this.#ending(
        what,
        this.enter(what, () => fn(...args)),
        limit_ms,
      )
      this.#failuresInRow = 0
      if (!streams) return result
      follows = true
      return this.#followed(what, result as AsyncIterable<unknown>) as Awaited<R>
    } catch (error) {
      if (!expected?.(error, ...args)) this.#judge(what, error)
      throw error
    } finally {
      if (!follows) this.#left()
    }
  }

  #left(): void {
    this.#running--
    if (this.#running === 0) for (const ended of this.#ended) ended()
  }

  /** Whether what a plugin's code threw is a failure of it: a domain error is an answer. */
  static isFailure(error: unknown): boolean {
    return !(error instanceof SvcError) || error.code === 'time_limit'
  }

  #judge(what: string, error: unknown): void {
    if (Activity.isFailure(error)) this.fail(what, error)
  }

  /** A stream of the plugin, which counts as running until it has ended, was left, or is cut off with its version. */
  #followed(what: string, source: AsyncIterable<unknown>): AsyncIterableIterator<unknown> {
    const values = source[Symbol.asyncIterator]()
    let gone: unknown
    const disposed = (error: unknown) => {
      gone = error
    }
    let over = false
    const leave = () => {
      if (over) return
      over = true
      this.#waiting.delete(disposed)
      this.#left()
    }
    this.#waiting.add(disposed)
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next: async () => {
        try {
          if (gone) throw gone
          const step = await this.#ending(
            what,
            this.enter(what, () => values.next()),
            undefined,
          )
          if (step.done) leave()
          return step
        } catch (error) {
          if (!over) this.#judge(what, error)
          leave()
          values.return?.().catch(() => {})
          throw error
        }
      },
      return: async () => {
        leave()
        await values.return?.()
        return { done: true, value: undefined }
      },
    }
  }

  /** Counts a failure that was noticed elsewhere, such as a rejection that nobody handled. */
  fail(what: string, error: unknown): void {
    this.failures++
    this.lastFailure = `${this.#parts.where(error)}: ${what}: ${sentenceOf(error)}`
    const suspends = ++this.#failuresInRow >= this.#parts.max_failures
    if (suspends) {
      this.#failuresInRow = 0
      this.#suspendedUntil = this.#parts.clock.monotonic() + COOL_DOWN_MS * 2 ** this.#suspensions++
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

  get retired(): boolean {
    return !this.#shown
  }

  /** Takes no new calls; what runs goes on. */
  retire(): void {
    this.#shown = false
  }

  /** Ends what still runs, for its callers, with an error. */
  dispose(): void {
    const error = new PluginGoneError({ plugin: this.#parts.plugin })
    for (const abandon of this.#waiting) abandon(error)
  }

  /** Takes calls, for the first time or again. */
  revive(): void {
    this.#shown = true
    this.#sealed = true
    this.#failuresInRow = 0
    this.#suspendedUntil = 0
  }

  /** Waits for the work, its limit, or the end of this version. No promise outlives the call: a race with a lasting one would. */
  async #ending<R>(what: string, work: R, limit_ms: number | undefined): Promise<Awaited<R>> {
    if (!(work instanceof Promise)) return work as Awaited<R>
    let abandon: (error: unknown) => void = () => {}
    const cut = new Promise<never>((_, reject) => {
      abandon = reject
    })
    this.#waiting.add(abandon)
    const tooLong = () => abandon(new TimeLimitError({ what: `The plugin's ${what}`, ms: limit_ms ?? 0 }))
    const cancel = limit_ms === undefined ? () => {} : this.#parts.clock.after(limit_ms, tooLong)
    try {
      return (await Promise.race([work, cut])) as Awaited<R>
    } finally {
      cancel()
      this.#waiting.delete(abandon)
    }
  }
}
