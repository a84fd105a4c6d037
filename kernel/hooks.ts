import { AsyncSeriesBailHook, AsyncSeriesHook } from 'tapable'
import { z } from 'zod'
import { didYouMean } from './did-you-mean.ts'
import { ConflictError, defineError, errorMessage } from './errors.ts'
import type { CycleBoundary } from './interceptor.ts'
import { type Clock, type Log, withTimeLimit } from './ports.ts'
import type { Undo } from './scope.ts'

/** Events of the kernel itself, with their payloads. */
export const KERNEL_EVENTS = {
  config_changed: z
    .object({ keys: z.array(z.string()) })
    .describe('The effective values of configuration keys have changed'),
  plugin_reloaded: z
    .object({ plugin: z.string(), outcome: z.string() })
    .describe('A plugin was loaded, replaced, removed, refused or rolled back'),
} as const

/** Event names and payloads; a module adds its own by merging into this interface. */
export interface Events extends KernelEvents {}
type KernelEvents = { [K in keyof typeof KERNEL_EVENTS]: z.infer<(typeof KERNEL_EVENTS)[K]> }
export type EventName = keyof Events & string

/** Time limit of one event handler or guard, in milliseconds. */
export const HANDLER_LIMIT_MS = 10_000

export interface TapOptions {
  name: string
  /** Lower stages run earlier; 0 by default. */
  stage?: number | undefined
  /** Names of taps that this one runs before. */
  before?: string | string[]
}

/** Inputs of the hooks' taps; modules add their hooks by merging. */
export interface Tapped extends Events {}

interface Tap<In, Out> extends TapOptions {
  fn: (input: In) => Out | undefined | Promise<Out | undefined>
}

export interface HookOptions {
  /** `series`: every tap runs. `bail`: the first answer that is not undefined ends the call. */
  kind: 'series' | 'bail'
  /** Handles the error of a tap, which then counts as undefined. By default it is rethrown. */
  onError?: (tap: string, error: unknown) => void
  /** Limits the time of an async tap. @returns the work, which fails if it takes longer */
  limit?: (tap: string, work: Promise<unknown>) => Promise<unknown>
}

interface Compiled<In, Out> {
  callAsync(input: In, done: (error: unknown, answer?: Out) => void): void
}

/**
 * A tapable hook whose taps can be removed. Tapable has no untap, so the hook is compiled again from the list of taps at
 * the next call; running calls end with the taps that they began with.
 */
export class Hook<In, Out = void> {
  readonly name: string
  #options: HookOptions
  #taps: readonly Tap<In, Out>[] = []
  #compiled: Compiled<In, Out> | undefined

  constructor(name: string, options: HookOptions) {
    this.name = name
    this.#options = options
  }

  /** Takes the options of a new owner; existing taps stay. */
  adopt(options: HookOptions): this {
    this.#options = options
    this.#compiled = undefined
    return this
  }

  get taps(): readonly TapOptions[] {
    return this.#taps
  }

  /** Adds a handler, sync or async. @returns a function that removes it */
  tap(options: string | TapOptions, fn: Tap<In, Out>['fn']): Undo {
    const tap = { ...(typeof options === 'string' ? { name: options } : options), fn }
    this.#change([...this.#taps, tap])
    return () => this.#change(this.#taps.filter(other => other !== tap))
  }

  /** Removes the taps of a handler. */
  untap(fn: unknown): void {
    this.#change(this.#taps.filter(tap => tap.fn !== fn))
  }

  /**
   * Calls the taps in order, one after another.
   * @returns the first answer of a `bail` hook, else undefined; no promise if all taps are synchronous
   */
  call(input: In): Out | undefined | Promise<Out | undefined> {
    if (this.#taps.length === 0) return undefined
    this.#compiled ??= this.#compile()
    let ended: { error: unknown; answer: Out | undefined } | undefined
    let waiting: { resolve: (answer: Out | undefined) => void; reject: (error: unknown) => void } | undefined
    this.#compiled.callAsync(input, (error, answer) => {
      if (!waiting) ended = { error, answer }
      else if (error) waiting.reject(error)
      else waiting.resolve(answer)
    })
    if (!ended) return new Promise((resolve, reject) => (waiting = { resolve, reject }))
    if (ended.error) throw ended.error
    return ended.answer
  }

  #change(taps: readonly Tap<In, Out>[]): void {
    this.#taps = taps
    this.#compiled = undefined
  }

  #compile(): Compiled<In, Out> {
    const { kind, onError, limit } = this.#options
    const Kind = kind === 'bail' ? AsyncSeriesBailHook : AsyncSeriesHook
    const hook = new Kind<[In], Out>(['input'], this.name) as unknown as AsyncSeriesHook<[In]>
    for (const { fn, name, stage, before } of this.#taps) {
      hook.tapAsync({ name, stage, before } as { name: string }, (input, callback) => {
        const done = callback as (error: unknown, answer?: unknown) => void
        const fails = (error: unknown) => {
          try {
            if (!onError) throw error
            onError(name, error)
          } catch (thrown) {
            return done(thrown ?? new Error(`the handler "${name}" failed without an error value`))
          }
          done(null)
        }
        let given: unknown
        let waits: boolean
        try {
          given = fn(input)
          if (limit && given instanceof Promise) given = limit(name, given)
          waits = isThenable(given)
        } catch (error) {
          return fails(error)
        }
        if (waits) (given as PromiseLike<unknown>).then(answer => done(null, answer), fails)
        else done(null, given)
      })
    }
    return hook as unknown as Compiled<In, Out>
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

export const UnknownHookError = defineError({
  code: 'unknown_hook',
  status: 400,
  title: 'Unknown hook',
  message: ({ name, known }: { name: string; known: string[] }) =>
    `There is no hook "${name}"; ${didYouMean(name, known, known.length > 20 ? 'docs/reference/events.md' : undefined)}`,
})

export interface HooksParts {
  clock: Clock
  log: Log
  boundary: CycleBoundary
}

/** All hooks by name. Events are emitted to listeners (`on`); phases and points are called for an answer. */
export class Hooks {
  readonly #hooks = new Map<string, Hook<never, unknown>>()
  /** Hooks whose owner is gone while others still have taps on them. */
  readonly #orphans = new Map<string, Hook<never, unknown>>()
  readonly #events = new Map<string, z.ZodType>()
  readonly #parts: HooksParts

  constructor(parts: HooksParts) {
    this.#parts = parts
  }

  /** Declares a hook by name. @throws ConflictError when the name is taken */
  declare<In, Out>(name: string, options: HookOptions): Hook<In, Out> {
    if (this.#hooks.has(name)) throw new ConflictError({ message: `There already is a hook called "${name}".` })
    const orphan = this.#orphans.get(name) as unknown as Hook<In, Out> | undefined
    const hook = orphan?.adopt(options) ?? new Hook<In, Out>(name, options)
    this.#orphans.delete(name)
    this.#hooks.set(name, hook as unknown as Hook<never, unknown>)
    return hook
  }

  /** Declares an event with the schema of its payload. Errors of handlers are logged. @returns a function that removes it */
  declareEvent(name: string, schema: z.ZodType): Undo {
    const { clock, log } = this.#parts
    this.declare(name, {
      kind: 'series',
      onError: (plugin, error) => log.error({ plugin, stack: Object(error).stack }, `${name}: ${errorMessage(error)}`),
      limit: (tap, work) => withTimeLimit(clock, HANDLER_LIMIT_MS, `The handler "${tap}" of ${name}`, work),
    })
    this.#events.set(name, schema)
    return () => {
      this.#events.delete(name)
      this.remove(name)
    }
  }

  remove(name: string): void {
    const hook = this.#hooks.get(name)
    this.#hooks.delete(name)
    // Listeners stay until its owner is back, as after a reload.
    if (hook && hook.taps.length > 0) this.#orphans.set(name, hook)
  }

  /** @param early whether to return a hook that is not declared yet @throws UnknownHookError that names the declared ones */
  get<In, Out = unknown>(name: string, early = false): Hook<In, Out> {
    const known = this.#hooks.get(name) ?? (early ? this.#orphans.get(name) : undefined)
    const hook = known ?? (early ? new Hook<never, unknown>(name, { kind: 'series' }) : undefined)
    if (hook && !known) this.#orphans.set(name, hook)
    if (!hook) throw new UnknownHookError({ name, known: this.names() })
    return hook as unknown as Hook<In, Out>
  }

  names(): string[] {
    return [...this.#hooks.keys()]
  }

  /** The declared events with their schemas. */
  events(): ReadonlyMap<string, z.ZodType> {
    return this.#events
  }

  /** Listens to an event; the same handler is added once. @returns a function that removes it; so does `off` */
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown, name?: string, early?: boolean): Undo {
    const hook = this.get<Events[E], void>(event, early)
    hook.untap(handler)
    return hook.tap(name || handler.name || 'handler', handler as (payload: Events[E]) => undefined)
  }

  /** Removes a handler; ignores one that does not listen. */
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    this.#hooks.get(event)?.untap(handler)
  }

  /**
   * Emits an event. Handlers run one after another; their errors are logged, never thrown.
   * @returns undefined if all handlers were synchronous
   */
  emit<E extends EventName>(event: E, payload: Events[E]): void | Promise<void> {
    const hook = this.get<Events[E], void>(event)
    if (hook.taps.length === 0) return
    return this.#parts.boundary.emit(event, () => hook.call(payload))
  }
}
