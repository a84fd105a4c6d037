import type { z } from 'zod'
import type { Configuration } from './configuration.ts'
import type { EventName, Events, Hooks, TapOptions, Tapped } from './hooks.ts'
import type { Registrations, Resource } from './host/registrations.ts'
import { type Interceptor, intercept, type PluginCall } from './interceptor.ts'
import { type Invoke, type Operation, type OperationCall, Operations } from './operations.ts'
import { type Contribution, checkFields, type Point, type Points } from './points.ts'
import type { Clock, Log, Ports, Project, Role } from './ports.ts'
import type { Undo } from './scope.ts'
import type { Services, Token } from './services.ts'

/** The parts of the kernel that all plugins share. */
export interface SharedParts {
  hooks: Hooks
  points: Points
  services: Services
  config: Configuration
  ports: Ports
  log: Log
  project: Project
  roles: ReadonlySet<Role>
  invoke: (...given: Parameters<Invoke>) => Promise<unknown>
  extensions: readonly Extension[]
}

/** What belongs to one version of a plugin. */
export interface HandleParts {
  registrations: Registrations
  builtin: boolean
  /** Whether it comes from a file. The answers that such a plugin gives to cycles are recorded. */
  ofFile: boolean
  /** Wraps the plugin's functions; without it they are called directly. */
  interceptor: Interceptor | undefined
  /** State that the previous version handed over. */
  previous: unknown
}

/** Adds members to the handle of a plugin; a module declares their types by merging into `PluginHandle`. */
export type Extension = (handle: PluginHandle, parts: HandleParts) => Partial<PluginHandle>

const EMITTED = Promise.resolve()

/** The `svc` that `setup` receives. Everything that is registered with it is removed with the plugin. */
export class PluginHandle {
  readonly name: string
  readonly log: Log
  readonly ports: Ports
  readonly clock: Clock
  readonly project: Project
  /** The roles of this process. */
  readonly roles: ReadonlySet<Role>
  /** Runs an operation by name, with the checks that HTTP, CLI and MCP have. */
  readonly invoke: Invoke
  /** State that the previous version handed over; undefined if it does not match `state`. */
  readonly previous: unknown
  readonly #kernel: SharedParts
  readonly #parts: HandleParts
  readonly #listening = new WeakMap<object, Map<string, Undo>>()

  constructor(name: string, kernel: SharedParts, parts: HandleParts) {
    this.name = name
    this.#kernel = kernel
    this.#parts = parts
    this.previous = parts.previous
    this.log = kernel.log.child({ plugin: name })
    this.ports = kernel.ports
    this.clock = kernel.ports.clock
    this.project = kernel.project
    this.roles = kernel.roles
    this.invoke = kernel.invoke.bind(kernel) as Invoke
    for (const extend of kernel.extensions)
      Object.defineProperties(this, Object.getOwnPropertyDescriptors(extend(this, parts)))
  }

  /** Sets the function whose result the next version gets as `svc.previous`. It is called during the swap. */
  handOver(state: () => unknown): void {
    this.#parts.registrations.handOver = state
  }

  /** Records a registration during `setup`, and applies it at once afterwards. @returns a function that undoes it */
  #declare(label: string, apply: () => Undo, rank: 0 | 1 = 0): Undo {
    const { builtin, registrations } = this.#parts
    return registrations.add(label, apply, rank, builtin ? {} : new Error(label))
  }

  /** Adds a contribution to a point. It is removed with the plugin, or earlier by the returned function. */
  add<C>(point: Point<C>, contribution: C): Undo {
    const label = this.#kernel.points.label(point, contribution, this.name)
    return this.#declare(label, () => this.#kernel.points.add(point, contribution, this.name, this.#parts))
  }

  /** Returns the current contributions to a point. */
  list<C>(point: Point<C>): readonly C[] {
    return this.#kernel.points.list(point).map(contribution => contribution.value)
  }

  /** Returns the current contributions with their owners. */
  contributions<C>(point: Point<C>): readonly Contribution<C>[] {
    return this.#kernel.points.list(point)
  }

  /** Returns the current contribution with this key. */
  find<C>(point: Point<C>, key: string): C | undefined {
    return this.#kernel.points.find(point, key)
  }

  /** Calls the contributions of a point in order; returns the first answer, or undefined. */
  async ask<C, Q, A>(point: Point<C>, question: Q): Promise<A | undefined> {
    return this.#kernel.points.ask(point, question)
  }

  /** Calls back after contributions to a point were added or removed. */
  onChange<C>(point: Point<C>, listener: () => void): Undo {
    return this.#declare(`watches ${point.name}`, () => this.#kernel.points.onChange(point, listener), 1)
  }

  /** Subscribes a handler, sync or async, to an event, once. What it throws is logged and stops nothing. */
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    checkFields(event, { handler: 'function' }, { handler }, this.name)
    this.off(event, handler)
    const byEvent = this.#listening.get(handler) ?? new Map<string, Undo>()
    this.#listening.set(handler, byEvent)
    const { interceptor, builtin } = this.#parts
    const listener = intercept(interceptor, { kind: 'handler', name: event }, handler)
    const undo = this.#declare(`on ${event}`, () => this.#kernel.hooks.on(event, listener, this.name, builtin), 1)
    byEvent.set(event, undo)
  }

  /** Unsubscribes a handler; does nothing if it is not subscribed. */
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    const byEvent = this.#listening.get(handler)
    void byEvent?.get(event)?.()
    byEvent?.delete(event)
  }

  /** Emits an event and waits for its handlers. Never rejects because of a handler. */
  emit<E extends EventName>(event: E, payload: Events[E]): Promise<void> {
    return this.#kernel.hooks.emit(event, payload) ?? EMITTED
  }

  /** Declares an event of the plugin's own, with the schema of its payload. */
  event(name: string, schema: z.ZodType): Undo {
    return this.#declare(`event ${name}`, () => this.#kernel.hooks.declareEvent(name, schema))
  }

  /** The declared events with their schemas. */
  get events(): ReadonlyMap<string, z.ZodType> {
    return this.#kernel.hooks.events()
  }

  /** Taps a hook by name: a phase (with its cycle), an event or a point. */
  tap<H extends keyof Tapped>(hook: H, options: string | TapOptions, fn: (input: Tapped[H]) => unknown): Undo
  tap<In>(hook: string, options: string | TapOptions, fn: (input: In) => unknown): Undo
  tap<In>(hook: string, options: string | TapOptions, fn: (input: In) => unknown): Undo {
    checkFields(hook, { fn: 'function' }, { fn }, this.name)
    const given = typeof options === 'string' ? { name: options } : options
    const named = { ...given, name: given.name === this.name ? given.name : `${this.name}/${given.name}` }
    const handler = intercept(this.#parts.interceptor, { kind: 'tap', name: hook }, fn) as (input: In) => never
    return this.#declare(`tap of ${hook}`, () => this.#kernel.hooks.get<In>(hook).tap(named, handler), 1)
  }

  /** Adds an operation: a REST route, a command, an MCP tool and an entry of the OpenAPI document at once. */
  operation<I extends z.ZodObject, O extends z.ZodType>(definition: OperationDefinition<I, O>): Undo {
    checkFields(Operations.name, { run: 'function' }, definition, this.name)
    const bound = bindOperation(operation(definition), this)
    const call: PluginCall<Parameters<typeof bound.run>> = {
      kind: 'operation',
      name: definition.name,
      streams: definition.events !== undefined,
      fit: (input, call) => [definition.input.parse(input), call],
    }
    return this.add(Operations, { ...bound, run: intercept(this.#parts.interceptor, call, bound.run) })
  }

  /** Provides a service, in place of an earlier provider. @throws TypeError that names the missing methods */
  provide<T>(token: Token<T>, value: T): Undo {
    const methods = this.#parts.builtin ? {} : this.#kernel.services.methodsOf(token)
    checkFields(`the service ${token.name}`, methods, value, this.name)
    return this.#declare(`provides ${token.name}`, () => this.#kernel.services.provide(token, value, this.name))
  }

  /** Returns the service's current provider. Call it where you need the service, not in `setup`, and do not keep the result. */
  use<T>(token: Token<T>): T {
    return this.#kernel.services.use(token)
  }

  /** Returns whether a plugin provides the service. */
  has(token: Token<unknown>): boolean {
    return this.#kernel.services.has(token)
  }

  /** Adds keys to a section of the configuration. The result reads current values at each access. */
  section<S extends z.ZodObject>(section: string, shape: S): z.output<S> {
    const { view, add } = this.#kernel.config.section(section, shape, this.name)
    this.#declare(`config ${section || '(top level)'}`, add)
    return view
  }

  get config(): Configuration {
    return this.#kernel.config
  }

  /** Starts a resource (socket, timer, child process) once the plugin is live, in these roles; `fn` returns its cleanup. */
  start(fn: Resource['start'], options: { in?: readonly Role[] } = {}): void {
    checkFields('resources', { start: 'function' }, { start: fn }, this.name)
    this.#parts.registrations.resources.push({ start: fn, in: options.in ?? ['daemon'] })
  }
}

/** A call as the operation receives it. */
export interface OperationContext extends OperationCall {
  /** The handle of the plugin that registered the operation: `svc.use(Store)`. */
  svc: PluginHandle
}

/** An operation as it is written, whose functions receive the handle of its plugin. */
export type OperationDefinition<I extends z.ZodObject, O extends z.ZodType> = Operation<I, O, OperationContext>

/** Types an operation: its functions by its schemas. */
export function operation<I extends z.ZodObject, O extends z.ZodType>(given: OperationDefinition<I, O>): Operation {
  return given as unknown as Operation
}

/** Returns the operation with functions that add this handle to their calls. */
function bindOperation({ ...bound }: Operation, svc: PluginHandle): Operation {
  const { run, count } = bound
  // Copied with its getters, because a signal may be created on first use.
  const own = (call: OperationCall): OperationContext =>
    Object.assign(Object.create(Object.getPrototypeOf(call), Object.getOwnPropertyDescriptors(call)), { svc })
  bound.run = (input, call) => run.call(bound, input, own(call))
  if (count) bound.count = (input, call) => count.call(bound, input, own(call))
  return bound
}
