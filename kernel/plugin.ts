import type { z } from 'zod'
import type { Config } from './config.ts'
import {
  GoalStrategies,
  type GoalStrategy,
  type Guard,
  Guards,
  type Toolkit,
  Toolkits,
  type WakeSource,
  WakeSources,
} from './contributions.ts'
import { PHASES } from './cycle.ts'
import { sentenceOf } from './errors.ts'
import {
  type EventName,
  type Events,
  HANDLER_LIMIT_MS,
  type Hooks,
  type TapOptions,
  UnknownHookError,
} from './hooks.ts'
import type { Log } from './log.ts'
import { type Operation, type OperationCall, Operations, operation } from './operations.ts'
import type { Point, Points } from './points.ts'
import { type Ports, within } from './ports.ts'
import type { Scope, Undo } from './scope.ts'
import type { Services, Token } from './services.ts'

export const ROLES = ['daemon', 'server', 'mcp', 'cli'] as const
/** What a process is for. One process may have several roles. */
export type Role = (typeof ROLES)[number]

export interface PluginDefinition<C extends z.ZodObject = z.ZodObject> {
  name: string
  description?: string
  version?: string
  /** The range of the public face that it was written for. */
  requires?: string
  /** Plugins that must be live before this one. */
  needs?: readonly string[]
  /** Its configuration; the values stand under `plugins.config.<name>`, for a builtin under `section`. */
  config?: C
  section?: string
  /** Declares what the plugin adds. Runs in every process; holds no resource. */
  setup(svc: PluginHandle, config: z.output<C>): void
}

/** Keeps the types of one plugin together: what a plugin file exports as its default. */
export function definePlugin<C extends z.ZodObject>(definition: PluginDefinition<C>): PluginDefinition {
  return definition as unknown as PluginDefinition
}

/** Where things lie in the project. */
export interface Project {
  /** The folder that holds `.svc/`, `plugins/` and `profiles/`. */
  readonly root: string
  readonly svc: string
  readonly config: string
  readonly database: string
  readonly workspaces: string
  readonly plugins: readonly string[]
}

export interface HandleParts {
  scope: Scope
  hooks: Hooks
  points: Points
  services: Services
  config: Config
  ports: Ports
  log: Log
  project: Project
  guardsFailClosed: () => boolean
  builtin: boolean
  roles: ReadonlySet<Role>
  heartbeat: HeartbeatFace
  invoke: Invoke
}

/** What rooms may ask of the loop. */
export interface HeartbeatFace {
  readonly live: boolean
  readonly inFlight: readonly string[]
  readonly lastTick: number
  start(): void
  stop(): Promise<void>
  hint(): void
}
export type Invoke = (name: string, input: unknown, call?: Partial<OperationCall>) => Promise<unknown>

/** A contribution that `setup` recorded: nothing of it is visible until it is applied. */
interface Declared {
  label: string
  /** Listeners come after what they listen to. */
  rank: 0 | 1
  apply: () => Undo
  /** Set once it is applied. */
  undo?: Undo
}

export interface Resource {
  start: (signal: AbortSignal) => Promise<Undo | void> | Undo | void
  in: readonly Role[]
}

/** What `setup` receives as `svc`: one line for each thing that a plugin adds. Everything leaves with the plugin's scope. */
export class PluginHandle {
  readonly name: string
  readonly log: Log
  readonly ports: Ports
  readonly project: Project
  /** The roles of this process. */
  readonly roles: ReadonlySet<Role>
  readonly heartbeat: HeartbeatFace
  /** Runs an operation by name, as a face would. */
  readonly invoke: Invoke
  readonly #parts: HandleParts
  readonly #declared = new Set<Declared>()
  readonly #listening = new Map<unknown, Map<string, Undo>>()
  /** From then on, what is added is added at once. */
  #active = false
  /** What `start` recorded. */
  readonly resources: Resource[] = []

  constructor(name: string, parts: HandleParts) {
    this.name = name
    this.#parts = parts
    this.log = parts.log.child({ plugin: name })
    this.ports = parts.ports
    this.project = parts.project
    this.roles = parts.roles
    this.heartbeat = parts.heartbeat
    this.invoke = parts.invoke
  }

  get clock() {
    return this.ports.clock
  }

  /** Makes what was recorded visible, in two rounds: first everything that others may name, then what names it. */
  activate(rank: 0 | 1): void {
    for (const declared of this.#declared) {
      if (declared.rank === rank) declared.undo = this.#parts.scope.hold(declared.label, declared.apply())
    }
    this.#active = rank === 1
  }

  /** Records during `setup`, does at once afterwards; the result takes it back before the scope would. */
  #declare(label: string, apply: () => Undo, rank: 0 | 1 = 0): Undo {
    if (this.#active || this.#parts.scope.closed) return this.#parts.scope.hold(label, apply())
    const declared: Declared = { label, rank, apply }
    this.#declared.add(declared)
    return () => (this.#declared.delete(declared) ? declared.undo?.() : undefined)
  }

  /** Adds a contribution to a point; like everything here it leaves with the scope, or earlier by the undoing returned. */
  add<C>(point: Point<C>, contribution: C): Undo {
    const label = `${point.name}: ${point.options.key(contribution)}`
    return this.#declare(label, () => this.#parts.points.add(point, contribution, this.name))
  }

  /** What all plugins contributed to a point, now. */
  list<C>(point: Point<C>): readonly C[] {
    return this.#parts.points.list(point).map(contribution => contribution.value)
  }

  /** What was contributed to a point under this key, now. */
  find<C>(point: Point<C>, key: string): C | undefined {
    return this.#parts.points.find(point, key)
  }

  /** Puts a question to a point whose contributions answer; undefined when none did. */
  ask<C, Q, A>(point: Point<C>, question: Q): Promise<A | undefined> {
    return this.#parts.points.ask(point, question)
  }

  /** Calls back when contributions to a point came or went. */
  onChange<C>(point: Point<C>, listener: () => void): Undo {
    return this.#declare(`watches ${point.name}`, () => this.#parts.points.onChange(point, listener), 1)
  }

  /** Listens to an event, once for each handler; sync or async. What it throws is logged and stops nothing. */
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    this.off(event, handler)
    const byEvent = this.#listening.get(handler) ?? new Map<string, Undo>()
    this.#listening.set(handler, byEvent)
    byEvent.set(
      event,
      this.#declare(`on ${event}`, () => this.#parts.hooks.on(event, handler, this.name), 1),
    )
  }

  /** Stops listening. A handler that does not listen is passed over. */
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    const byEvent = this.#listening.get(handler)
    void byEvent?.get(event)?.()
    byEvent?.delete(event)
    if (byEvent?.size === 0) this.#listening.delete(handler)
  }

  /** Tells an event to whoever listens, and waits for their handlers. Never rejects because of a handler. */
  emit<E extends EventName>(event: E, payload: Events[E]): Promise<void | undefined> {
    return this.#parts.hooks.emit(event, payload)
  }

  /** Declares an event of the plugin's own, with the schema of its payload. */
  event(name: string, schema: z.ZodType): Undo {
    const failed = (tap: string, error: unknown) => this.log.error({ plugin: tap }, `${name}: ${sentenceOf(error)}`)
    const options = { failed, limit_ms: HANDLER_LIMIT_MS, clock: this.clock }
    return this.#declare(`event ${name}`, () => this.#parts.hooks.declareEvent(name, schema, options))
  }

  /** The declared events with their schemas. */
  get events(): ReadonlyMap<string, z.ZodType> {
    return this.#parts.hooks.events()
  }

  /** The hooks by name, for `tap` with `stage` and `before`; a tap made here is in the scope too. */
  get hooks(): HookSet {
    const set: Record<string, unknown> = {
      on: <E extends EventName>(event: E, handler: (payload: Events[E]) => unknown) => this.on(event, handler),
      off: <E extends EventName>(event: E, handler: (payload: Events[E]) => unknown) => this.off(event, handler),
      registerGuard: (phase: string, guard: Guard, options?: GuardOptions) => this.guard(phase, guard, options),
    }
    for (const name of this.#parts.hooks.names()) {
      const tap = (options: string | TapOptions, fn: (input: never) => unknown) => this.tap(name, options, fn)
      set[name] = { name, tap, tapPromise: tap, taps: this.#parts.hooks.get(name).taps }
    }
    return set as unknown as HookSet
  }

  /** Taps a hook by name: a phase (with its cycle), an event or a point. */
  tap<In>(hook: string, options: string | TapOptions, fn: (input: In) => unknown): Undo {
    const given = typeof options === 'string' ? { name: options } : options
    const named = { ...given, name: given.name === this.name ? given.name : `${this.name}/${given.name}` }
    return this.#declare(
      `tap of ${hook}`,
      () => this.#parts.hooks.get<In>(hook).tap(named, fn as (input: In) => never),
      1,
    )
  }

  /**
   * Registers a guard for a phase, or for all with `*`. When it throws, a plugin's guard lets the phase pass unless
   * `failClosed` is set; a builtin's follows `daemon.guards_fail_closed`. One that answers no boolean, or not in time, has
   * thrown.
   * @throws UnknownHookError when there is no such phase
   */
  guard(phase: string, guard: Guard, options: GuardOptions = {}): Undo {
    const phases: readonly string[] = [...PHASES, '*']
    if (!phases.includes(phase)) throw new UnknownHookError({ name: phase, known: [...phases] })
    const name = options.name ?? guard.name ?? `${this.name}${this.#guards++ || ''}`
    const failClosed = () => options.failClosed ?? (this.#parts.builtin && this.#parts.guardsFailClosed())
    return this.add(Guards, {
      name,
      phase,
      guard: {
        shouldProceed: gate => {
          const verdict = guard.shouldProceed(gate)
          if (!(verdict instanceof Promise)) return verdict
          return within(this.clock, HANDLER_LIMIT_MS, `The guard "${name}"`, verdict)
        },
      },
      failClosed,
      failed: ({ agent_id, cycle_num, phase: at }, error) => {
        this.log.error({ agent_id, cycle_num }, `guard "${name}" of ${at}: ${sentenceOf(error)}`)
        if (failClosed())
          void this.emit('guard_failed', { agent_id, cycle_num, phase: at, guard: name, error: sentenceOf(error) })
      },
    })
  }
  #guards = 0

  /** Adds something that wakes the daemon between two heartbeats. */
  wakeSource(source: WakeSource): Undo {
    return this.add(WakeSources, source)
  }

  /** Adds a way of finding an idle agent its next goal. */
  goalStrategy(strategy: GoalStrategy): Undo {
    return this.add(GoalStrategies, {
      name: strategy.name ?? this.name,
      ...(strategy.stage === undefined ? {} : { stage: strategy.stage }),
      generateGoal: context => strategy.generateGoal(context),
    })
  }

  /** Adds tools that agents may be given. */
  toolkit(toolkit: Toolkit): Undo {
    return this.add(Toolkits, toolkit)
  }

  /** Adds what an operator can do: a REST route, a command, an MCP tool and a line of the OpenAPI document at once. */
  operation<I extends z.ZodObject, O extends z.ZodType>(definition: Operation<I, O>): Undo {
    return this.add(Operations, operation(definition))
  }

  /** Provides a service, in place of whoever provided it before. */
  provide<T>(token: Token<T>, value: T): Undo {
    return this.#declare(`provides ${token.name}`, () => this.#parts.services.provide(token, value, this.name))
  }

  /** The service's current provider. Cheap: call it where the service is needed and do not keep the result. */
  use<T>(token: Token<T>): T {
    return this.#parts.services.use(token)
  }

  /** Whether anybody provides the service. */
  has(token: Token<unknown>): boolean {
    return this.#parts.services.has(token)
  }

  /** Adds keys to a section of the configuration; the result is read anew at each access. */
  section<S extends z.ZodObject>(section: string, shape: S): z.output<S> {
    const { view, add } = this.#parts.config.prepare<z.output<S>>(section, shape, this.name)
    this.#declare(`config ${section || '(top level)'}`, add)
    return view
  }

  get config(): Config {
    return this.#parts.config
  }

  /** Holds a resource (socket, timer, child process) while the plugin is live, in processes of these roles. Returns its undoing. */
  start(fn: Resource['start'], options: { in?: readonly Role[] } = {}): void {
    this.resources.push({ start: fn, in: options.in ?? ['daemon'] })
  }
}

export interface GuardOptions {
  name?: string
  failClosed?: boolean
}

type HookFace<In> = { readonly taps: readonly TapOptions[] } & {
  [K in 'tap' | 'tapPromise']: (options: string | TapOptions, fn: (input: In) => unknown) => Undo
}

export type HookSet = { readonly [E in EventName]: HookFace<Events[E]> } & {
  readonly [name: string]: HookFace<never>
} & {
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void
  registerGuard(phase: string, guard: Guard, options?: GuardOptions): void
}
