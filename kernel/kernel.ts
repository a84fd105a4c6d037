import type { Configuration } from './configuration.ts'
import { defineError } from './errors.ts'
import type { Extension } from './handle.ts'
import { Hooks, KERNEL_EVENTS } from './hooks.ts'
import { Host } from './host/host.ts'
import type { CycleBoundary } from './interceptor.ts'
import { invoke, type OperationCall, Operations } from './operations.ts'
import { type Point, Points } from './points.ts'
import type { Log, Ports, Project, Role } from './ports.ts'
import { Scope } from './scope.ts'
import { Services, type Token, token } from './services.ts'
import type { PluginSupport } from './source.ts'

/** The plugins of this process, for interfaces that list or reload them. Modules add members by merging. */
export interface PluginHost extends Pick<Host, 'list' | 'apply' | 'listChanged'> {}
export const HostToken: Token<PluginHost> = token('host')

export const UnknownOperationError = defineError({
  code: 'unknown_operation',
  status: 404,
  title: 'Unknown operation',
  message: (p: { name: string }) => `There is no operation "${p.name}"; docs/reference/rest.md lists them.`,
})
export const ClosedError = defineError({
  code: 'closed',
  status: 503,
  title: 'Project is closed',
  message: () => 'The project is closed in this process; open it again.',
})

export interface KernelParts {
  project: Project
  roles: readonly Role[]
  ports: Ports
  log: Log
  config: Configuration
  /** Boundary through which a recording sees the events and answers of cycles. */
  boundary: CycleBoundary
  /** Disabled plugins by name: `null` if disabled directly, else the name of the disabled plugin that they need. */
  disabled: () => ReadonlyMap<string, string | null>
  /** Returns the sources, the interceptor and the error format of plugins; called once the rest of the kernel exists. */
  support: (kernel: Kernel) => PluginSupport
}

/** One project in one process: its hooks, services, points, operations and plugins. */
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
  /** Add members to the handles of plugins that are activated later. */
  readonly extensions: Extension[] = []
  /** Resources of the kernel itself, which are closed before the plugins. */
  readonly scope = new Scope('kernel')
  readonly #support: PluginSupport
  #closing: Promise<void> | undefined

  constructor(parts: KernelParts) {
    this.project = parts.project
    this.config = parts.config
    this.roles = new Set(parts.roles)
    this.ports = parts.ports
    this.log = parts.log
    this.hooks = new Hooks({ clock: parts.ports.clock, log: parts.log, boundary: parts.boundary })
    this.points = new Points(this.hooks, parts.boundary)
    for (const [name, schema] of Object.entries(KERNEL_EVENTS)) this.hooks.declareEvent(name, schema)
    this.points.open(Operations)
    this.#support = parts.support(this)
    this.host = new Host(this, this.#support, parts.disabled)
  }

  /** Starts the resources of the plugins, and applies changes of their sources from then on. */
  async start(): Promise<void> {
    await this.host.start()
    this.scope.hold('follows the sources of plugins', this.host.follow())
  }

  /** Lets the sources check for changes. Called once per heartbeat, between two cycles. */
  tick(): void {
    for (const source of this.#support.sources) source.tick()
  }

  /** Returns a service's current provider. @throws ServiceMissingError, ClosedError */
  use<T>(token: Token<T>): T {
    if (this.#closing && !this.services.has(token)) throw new ClosedError()
    return this.services.use(token)
  }

  /** Returns the current contributions to a point. */
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
      via: call.face ?? 'code',
      face: call.via ?? 'code',
      request_id: this.ports.ids.make('req', 12),
      progress: () => {},
      ...call,
    })
  }

  /** Closes the kernel's own resources, then removes all plugins. A second call waits for the first. */
  close(): Promise<void> {
    this.#closing ??= this.scope.close().then(() => this.host.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
