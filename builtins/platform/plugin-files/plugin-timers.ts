import nodeTimers from 'node:timers'
import nodePromises from 'node:timers/promises'
import { promisify } from 'node:util'

/** Node's own timers, even after they are replaced for the packages of plugins. */
const timers = { ...nodeTimers }
const promises = { ...nodePromises }

type Callback = (...args: unknown[]) => void
type Waiting = NodeJS.Timeout | NodeJS.Immediate
type Options = { ref?: boolean; signal?: AbortSignal } | undefined

/**
 * The timers of one version of a plugin, or of one package: the globals and the modules `node:timers` and
 * `node:timers/promises` that its files see. They behave as Node's until `close`, which stops them. Promises of stopped timers stay pending.
 */
export class PluginTimers {
  readonly #stops = new Map<unknown, () => void>()
  #closed = false

  /** The globals, by name. */
  readonly globals = {
    setTimeout: Object.assign(
      (fn: Callback, ms?: number, ...args: unknown[]) =>
        this.#hold(timers.setTimeout(this.#once(fn), ms, ...args), timers.clearTimeout),
      { [promisify.custom]: (ms?: number, value?: unknown, options?: Options) => this.#sleep(ms, value, options) },
    ),
    setInterval: (fn: Callback, ms?: number, ...args: unknown[]) =>
      this.#hold(timers.setInterval(fn, ms, ...args), timers.clearInterval),
    setImmediate: Object.assign(
      (fn: Callback, ...args: unknown[]) =>
        this.#hold(timers.setImmediate(this.#once(fn), ...args), timers.clearImmediate),
      { [promisify.custom]: (value?: unknown, options?: Options) => this.#yield(value, options) },
    ),
    clearTimeout: (timer: never) => this.#clear(timer, timers.clearTimeout),
    clearInterval: (timer: never) => this.#clear(timer, timers.clearInterval),
    clearImmediate: (timer: never) => this.#clear(timer, timers.clearImmediate),
  }

  /** Functions of `node:timers/promises`. */
  readonly promises: Pick<typeof nodePromises, 'setTimeout' | 'setInterval' | 'setImmediate'>
  /** The modules, by name. */
  readonly modules: Readonly<Record<string, object>>

  constructor() {
    const own = {
      setTimeout: this.globals.setTimeout[promisify.custom],
      setImmediate: this.globals.setImmediate[promisify.custom],
      setInterval: (ms?: number, value?: unknown, options?: Options) => this.#repeat(ms, value, options),
      scheduler: {
        wait: (ms?: number, options?: Options) => this.#sleep(ms, undefined, options),
        yield: () => this.#yield(),
      },
    }
    this.promises = own as unknown as typeof nodePromises
    const ofPromises = withDefault({ ...promises, ...own })
    this.modules = {
      'timers/promises': ofPromises,
      timers: withDefault({ ...timers, ...this.globals, promises: ofPromises }),
    }
  }

  /** Number of running timers. */
  get activeCount(): number {
    return this.#stops.size
  }

  /** Stops running timers; timers that are started later do not run. */
  close(): void {
    this.#closed = true
    for (const stop of this.#stops.values()) stop()
    this.#stops.clear()
  }

  /** Lets new timers run again, for a version that is restored. Stopped timers stay stopped. */
  open(): void {
    this.#closed = false
  }

  #hold<T extends Waiting>(timer: T, clear: (timer: T) => void): T {
    if (this.#closed) clear(timer)
    else this.#stops.set(timer, () => clear(timer))
    return timer
  }

  #clear<T>(timer: T, clear: (timer: T) => void): void {
    this.#stops.delete(timer)
    clear(timer)
  }

  /** Wraps the callback of a timer that runs once, to forget the timer. Node calls it with the timer as `this`. */
  #once(fn: Callback): Callback {
    // Node's own error reports a value that is not a function.
    if (typeof fn !== 'function') return fn
    const stops = this.#stops
    return function (this: unknown, ...args) {
      stops.delete(this)
      return fn.apply(this, args)
    }
  }

  #sleep(ms?: number, value?: unknown, options?: Options): Promise<unknown> {
    return this.#pending(options, own => promises.setTimeout(ms, value, own))
  }

  #yield(value?: unknown, options?: Options): Promise<unknown> {
    return this.#pending(options, own => promises.setImmediate(value, own))
  }

  async *#repeat(ms?: number, value?: unknown, options?: Options): AsyncGenerator<unknown> {
    const own = this.#stoppable(options)
    const beats = promises.setInterval(ms, value, own.options)
    try {
      for (;;) {
        const beat = await this.#unlessStopped(own, beats.next())
        if (beat.done) return
        yield beat.value
      }
    } finally {
      own.release()
      await beats.return?.()
    }
  }

  async #pending<T>(options: Options, start: (options: Options) => Promise<T>): Promise<T> {
    const own = this.#stoppable(options)
    try {
      return await this.#unlessStopped(own, start(own.options))
    } finally {
      own.release()
    }
  }

  /** Never settles for a timer that was stopped with its version. */
  #unlessStopped<T>({ isStopped }: { isStopped: () => boolean }, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, error => {
        if (!isStopped()) reject(error)
      })
    })
  }

  /** Returns the options of a promise's timer, with a signal of this version that follows the given one. */
  #stoppable(options: Options) {
    const control = new AbortController()
    let stopped = false
    const stop = () => {
      stopped = true
      control.abort()
    }
    if (this.#closed) stop()
    else this.#stops.set(control, stop)
    const { signal } = options ?? {}
    const follow = () => control.abort(signal?.reason)
    if (signal?.aborted) follow()
    signal?.addEventListener('abort', follow, { once: true })
    const release = () => {
      this.#stops.delete(control)
      signal?.removeEventListener('abort', follow)
    }
    return { options: { ...options, signal: control.signal }, isStopped: () => stopped, release }
  }
}

/** Returns a module of Node as `import` gives it. */
function withDefault(module: object): object {
  return { ...module, default: module }
}
