import type { z } from 'zod'
import type { CycleBoundary } from './boundary.ts'
import type { Configuration } from './configuration.ts'
import { GoalStrategies, Guards, Toolkits, WakeSources } from './contributions.ts'
import { type Cycle, PHASES } from './cycle.ts'
import { defineError, sentenceOf } from './errors.ts'
import type { HeartbeatControl } from './heartbeat.ts'
import { HANDLER_LIMIT_MS, Hooks, KERNEL_EVENTS } from './hooks.ts'
import { Host } from './host/host.ts'
import type { Log, LogOptions } from './log.ts'
import { invoke, type OperationCall, Operations } from './operations.ts'
import type { PluginDefinition } from './plugin.ts'
import { type Point, Points } from './points.ts'
import type { Ports } from './ports.ts'
import type { Project, Role } from './project.ts'
import { Services, type Token, token } from './services.ts'
import type { PluginSupport } from './source.ts'

/** The plugins of this process, for what shows or steers them; modules add to it. */
export interface PluginHost extends Pick<Host, 'list' | 'apply' | 'changed' | 'outline'> {}
export const HostToken: Token<PluginHost> = token('host')

/** Opens another project with the same builtins and some more, apart from this one: for what is tried out. */
export interface Opener {
  open(options: {
    root: string
    roles: readonly Role[]
    ports?: Partial<Ports>
    log?: LogOptions
    also?: readonly PluginDefinition[]
  }): Promise<Kernel>
}
export const OpenerToken: Token<Opener> = token('opener')

export const UnknownOperationError = defineError({
  code: 'unknown_operation',
  status: 404,
  title: 'Unknown operation',
  sentence: (p: { name: string }) => `There is no operation "${p.name}".`,
})
export const ClosedError = defineError({
  code: 'closed',
  status: 503,
  title: 'Closed',
  sentence: () => 'The project is closed in this process; open it again.',
})

export interface KernelParts {
  project: Project
  roles: readonly Role[]
  ports: Ports
  log: Log
  config: Configuration
  /** Stands around what leaves and enters cycles. */
  boundary: CycleBoundary
  /** Returns what drives the agents; called when all but the plugins are there. */
  heartbeat: (kernel: Kernel) => HeartbeatControl
  /** Returns the names of the plugins that are switched off. */
  disabled: () => readonly string[]
  /** Returns what the process has beside its builtins; called when all but the plugins are there. */
  support: (kernel: Kernel) => PluginSupport
}

/** One project in one process: its hooks, services, points, plugins and heartbeat. */
export class Kernel {
  readonly project: Project
  readonly roles: ReadonlySet<Role>
  readonly ports: Ports
  readonly log: Log
  readonly hooks: Hooks
  readonly services = new Services()
  readonly points: Points
  readonly config: Configuration
  readonly host: Host
  readonly heartbeat: HeartbeatControl
  readonly #support: PluginSupport
  #unfollow: () => Promise<void> = async () => {}
  #cancelTurn: () => void = () => {}
  #closing: Promise<void> | undefined

  constructor(parts: KernelParts) {
    const { project, config, ports, log } = parts
    this.project = project
    this.config = config
    this.roles = new Set(parts.roles)
    this.ports = ports
    this.log = log
    this.hooks = new Hooks(parts.boundary)
    this.points = new Points(this.hooks, ports.clock, parts.boundary)
    this.#declareHooks()
    this.heartbeat = parts.heartbeat(this)
    this.#support = parts.support(this)
    this.host = new Host({
      ...{ hooks: this.hooks, points: this.points, services: this.services, config, ports, log, project },
      ...{ disabled: parts.disabled, support: this.#support },
      roles: this.roles,
      heartbeat: this.heartbeat,
      guardsFailClosed: () => config.get('daemon.guards_fail_closed') === true,
      invoke: (name, input, call) => this.invoke(name, input, call),
    })
  }

  /** Starts the resources of the plugins, and follows what changes while this process serves or drives agents. */
  async start(): Promise<void> {
    await this.host.start()
    this.#unfollow = this.host.follow()
    // Without a heartbeat, a process that lasts has a timer of the same length.
    if (!this.roles.has('daemon') && (this.roles.has('server') || this.roles.has('mcp'))) this.#turn()
  }

  #turn(): void {
    this.#cancelTurn = this.ports.clock.after(Number(this.config.get('daemon.heartbeat')) * 1000, () => {
      this.#turn()
      if (!this.heartbeat.live) void this.tick()
    })
  }

  /** Declares events with the schemas of their payloads. Errors of their handlers are logged. */
  declareEvents(events: Readonly<Record<string, z.ZodType>>): void {
    const failed = (tap: string, error: unknown) =>
      this.log.error({ plugin: tap }, `a handler failed: ${sentenceOf(error)}`)
    const options = { failed, limit_ms: HANDLER_LIMIT_MS, clock: this.ports.clock }
    for (const [name, schema] of Object.entries(events)) this.hooks.declareEvent(name, schema, options)
  }

  #declareHooks(): void {
    this.declareEvents(KERNEL_EVENTS)
    for (const phase of PHASES) this.hooks.declare<Cycle, void>(phase, { kind: 'series' })
    // A point comes to be when it is first looked at; those of the kernel are there to be tapped from the beginning.
    for (const point of [Guards, WakeSources, GoalStrategies, Toolkits, Operations]) this.points.list<never>(point)
  }

  /** Applies changes of configuration and plugins; called once per heartbeat, between two cycles. */
  async tick(): Promise<void> {
    await this.#reloadConfig()
    for (const source of this.#support.sources) source.tick()
  }

  async #reloadConfig(): Promise<void> {
    try {
      const keys = await this.config.reload()
      if (keys.length > 0) {
        this.log.info({}, `configuration applied: ${keys.join(', ')}`)
        await this.hooks.emit('config_changed', { keys })
      }
    } catch (error) {
      this.log.error({}, `the last good configuration stays in force: ${sentenceOf(error)}`)
    }
  }

  /** A service's current provider. @throws ServiceMissingError, ClosedError */
  use<T>(token: Token<T>): T {
    if (this.#closing && !this.services.has(token)) throw new ClosedError()
    return this.services.use(token)
  }

  /** What all plugins contributed to a point, now. */
  list<C>(point: Point<C>): readonly C[] {
    return this.points.list(point).map(contribution => contribution.value)
  }

  /** Runs an operation by name. @throws UnknownOperationError, InvalidInputError, ClosedError, and what the operation throws */
  async invoke(name: string, input: unknown = {}, call: Partial<OperationCall> = {}): Promise<unknown> {
    const definition = this.points.find(Operations, name)
    if (!definition) throw this.#closing ? new ClosedError() : new UnknownOperationError({ name })
    return invoke(definition, input, {
      tenant: 'default',
      signal: new AbortController().signal,
      face: 'code',
      request_id: this.ports.ids.make('req', 12),
      progress: () => {},
      ...call,
    })
  }

  /** Stops the heartbeat, then undoes all plugins. Calling it again waits for the first call. */
  close(): Promise<void> {
    this.#cancelTurn()
    this.#closing ??= Promise.allSettled([this.#unfollow(), this.heartbeat.stop()]).then(() => this.host.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
