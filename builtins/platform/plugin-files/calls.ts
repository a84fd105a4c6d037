import { type Clock, TimeLimitError } from '#kernel'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { PluginGoneError, PluginSuspendedError } from './contract.ts'

export interface CallsParts {
  plugin: string
  breaker: CircuitBreaker
  clock: Pick<Clock, 'after'>
  /** Returns the calls of the plugin's live version, which takes calls that come too late for this one. */
  heir: () => Calls | undefined
  /** Called with the code that is about to run, and with undefined when it has given back control. */
  watch: (what: string | undefined) => void
}

export interface CallOptions<A extends unknown[]> {
  /** Returns whether an error of a call counts as a failure of the plugin's code. */
  isFailure: (error: unknown, args: A) => boolean
  /** Called with each failure. */
  onFailure?: (error: unknown) => void
  /** Time limit of one call, in milliseconds; waiting while calls are held does not count. */
  limit_ms?: number
  fit?: ((...args: A) => A) | undefined
  streams?: boolean | undefined
}

type Code = (...args: unknown[]) => Promise<unknown>

/**
 * Calls of one version of a plugin: counted, limited, held back while resources are handed over, and ended with the
 * version.
 */
export class Calls {
  readonly #parts: CallsParts
  /** Functions that `setup` declared, by label. The same function of another version has the same label. */
  readonly #code = new Map<string, Code>()
  readonly #ended = new Set<() => void>()
  readonly #waiting = new Set<(error: unknown) => void>()
  #running = 0
  #gate: Promise<void> | undefined
  #isOpen = false
  #isSealed = false

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  /** Accepts calls, for the first time or again. */
  open(): void {
    this.#isOpen = true
    this.#isSealed = true
  }

  /** Accepts no new calls; running calls continue. */
  close(): void {
    this.#isOpen = false
  }

  /** Holds calls back until the returned function is called. */
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

  /** Resolves when no call runs any more; undefined when none runs now. */
  idle(): Promise<void> | undefined {
    if (this.#running === 0) return undefined
    return new Promise(resolve => {
      const onEnd = () => {
        this.#ended.delete(onEnd)
        resolve()
      }
      this.#ended.add(onEnd)
    })
  }

  /** Ends running calls with an error for their callers. */
  dispose(): void {
    const error = new PluginGoneError({ plugin: this.#parts.plugin })
    for (const abandon of this.#waiting) abandon(error)
  }

  /**
   * Wraps a function of the plugin so that its calls are counted and limited. Once another version is live, a late call
   * from earlier work runs that version's function of the same label.
   * @returns a function that throws PluginSuspendedError, PluginGoneError, TimeLimitError, and what `fn` throws
   */
  wrap<A extends unknown[], R>(
    what: string,
    fn: (...args: A) => R,
    options: CallOptions<A>,
  ): (...args: A) => Promise<Awaited<R>> {
    let key = what
    for (let n = 2; this.#code.has(key); n++) key = `${what} ${n}`
    const call = (...args: A): Promise<Awaited<R>> => this.#call(key, what, fn, args, options)
    const late = async (...args: A) => call(...(options.fit?.(...args) ?? args))
    if (!this.#isSealed) this.#code.set(key, late as unknown as Code)
    return call
  }

  /** Runs code without counting it, for example a long wait, once calls are not held back. */
  async pass<R>(what: string, fn: () => R): Promise<Awaited<R>> {
    if (this.#gate) await this.#gate
    return await this.run(what, fn)
  }

  /** Runs code, and reports it to the watch until it gives back control. */
  run<R>(what: string, fn: () => R): R {
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
    { isFailure, onFailure, limit_ms, streams }: CallOptions<A>,
  ): Promise<Awaited<R>> {
    if (this.#gate) await this.#gate
    const { plugin, breaker, heir } = this.#parts
    if (!this.#isOpen) {
      const next = heir()
      const code = next === undefined ? undefined : next.#code.get(key)
      if (!code) throw new PluginGoneError({ plugin })
      return (await code(...args)) as Awaited<R>
    }
    if (breaker.isSuspended) throw new PluginSuspendedError({ plugin, failures: breaker.maxFailures })
    this.#running++
    breaker.calls++
    const recordFailure = (error: unknown) => {
      if (!isFailure(error, args)) return
      onFailure?.(error)
      breaker.recordFailure(what, error)
    }
    let goesOn = false
    try {
      const result = await this.#ending(
        what,
        this.run(what, () => fn(...args)),
        limit_ms,
      )
      breaker.recordSuccess()
      if (!streams) return result
      goesOn = true
      return this.#followValues(what, result as AsyncIterable<unknown>, recordFailure) as Awaited<R>
    } catch (error) {
      recordFailure(error)
      throw error
    } finally {
      if (!goesOn) this.#finishCall()
    }
  }

  #finishCall(): void {
    this.#running--
    if (this.#running === 0) for (const ended of this.#ended) ended()
  }

  /** Returns a stream of the plugin. It counts as running until it ends, is closed, or is cut off with its version. */
  #followValues(
    what: string,
    source: AsyncIterable<unknown>,
    recordFailure: (error: unknown) => void,
  ): AsyncIterableIterator<unknown> {
    const values = source[Symbol.asyncIterator]()
    let gone: unknown
    const onDispose = (error: unknown) => {
      gone = error
    }
    let over = false
    const leave = () => {
      if (over) return
      over = true
      this.#waiting.delete(onDispose)
      this.#finishCall()
    }
    this.#waiting.add(onDispose)
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next: async () => {
        try {
          if (gone) throw gone
          const step = await this.#ending(
            what,
            this.run(what, () => values.next()),
            undefined,
          )
          if (step.done) leave()
          return step
        } catch (error) {
          if (!over) recordFailure(error)
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

  /**
   * Waits for the work, its time limit, or the end of this version. All promises end with the call: racing a long-running
   * one would leak memory.
   */
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
