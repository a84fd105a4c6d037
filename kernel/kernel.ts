import { join, resolve } from 'node:path'
import { z } from 'zod'
import { drawnPorts, TapeToken } from './actor.ts'
import { Config } from './config.ts'
import { ConfigChecks } from './config-checks.ts'
import { GoalStrategies, Guards, Toolkits, WakeSources } from './contributions.ts'
import { type Cycle, PHASES } from './cycle.ts'
import { disabledCheck } from './disabled.ts'
import { defineError, sentenceOf } from './errors.ts'
import { Heartbeat, HeartbeatConfig } from './heartbeat.ts'
import { HANDLER_LIMIT_MS, Hooks, LIFECYCLE } from './hooks.ts'
import { Host } from './host.ts'
import { createLog, type Log, type LogOptions } from './log.ts'
import { invoke, type OperationCall, Operations } from './operations.ts'
import type { PluginDefinition } from './plugin.ts'
import { PluginsConfig } from './plugins-config.ts'
import { type Point, Points } from './points.ts'
import { keyedRandom, type Ports, systemPorts } from './ports.ts'
import type { Project, Role } from './project.ts'
import type { Scheduler } from './scheduler.ts'
import { secretsOf } from './secrets.ts'
import { Services, type Token, token } from './services.ts'
import { RestartToken } from './supervisor.ts'
import { isTrusted, untrustedSentence } from './trust.ts'
import { PluginWatch } from './watch.ts'

/** The store's part of scheduling, as the heartbeat sees it. */
export const SchedulerToken: Token<Scheduler> = token('scheduler')
/** The plugins of this process, for those that show or steer them. */
export const HostToken: Token<
  Pick<Host, 'list' | 'apply' | 'changed' | 'check' | 'load' | 'blame' | 'ofFiles' | 'outline' | 'hindrance'>
> = token('host')

/** Opens another project with the same builtins and some more, apart from this one: for what is tried out in a house of its own. */
export interface Opener {
  open(
    options: Pick<KernelOptions, 'root' | 'roles' | 'ports' | 'log'> & { also?: readonly PluginDefinition[] },
  ): Promise<Kernel>
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

const RootConfig = z.object({
  seed: z.number().int().nullable().default(null).meta({ env: 'SVC_SEED' }).describe("Seeds the world's random layer"),
})

export interface KernelOptions {
  /** The project's folder: the one that holds `.svc/`. */
  root: string
  roles: readonly Role[]
  builtins: readonly PluginDefinition[]
  ports?: Partial<Ports>
  log?: LogOptions
  /**
   * Which plugin files run, and programs that the configuration names: those of a project that this user trusts (see
   * trust.ts), `all` whatever the user has decided, or `none`. `trusted` by default.
   */
  pluginFiles?: 'trusted' | 'all' | 'none'
  /**
   * Opens with any configuration, for what inspects or repairs it: invalid values count as their defaults, all builtins are
   * there, and `config.faults()` lists what is wrong.
   */
  lenient?: boolean
  /** For plugins in the making: what changes on disk is live as soon as it is written. */
  dev?: boolean
  /** The command that starts this process again, where the process is the service's own and no other program's; empty to end it. */
  restart?: readonly string[]
  /** Called before any plugin is there: what is added to a point then comes before what they add. */
  prepare?: (kernel: Kernel) => void
  /** Modules that plugin files import by name. */
  modules?: () => Promise<Record<string, unknown>>
}

/** The composition root: what a process of `svc` is made of. */
export class Kernel {
  readonly project: Project
  readonly roles: ReadonlySet<Role>
  readonly ports: Ports
  readonly log: Log
  readonly hooks = new Hooks()
  readonly services = new Services()
  readonly points: Points
  readonly config: Config
  readonly host: Host
  readonly heartbeat: Heartbeat
  readonly #watch: PluginWatch
  #cancelTurn: () => void = () => {}
  #closing: Promise<void> | undefined

  /** Brings a process up: configuration, plugins, resources. @throws SvcError with a sentence for the operator */
  static async open(options: KernelOptions): Promise<Kernel> {
    const ports = systemPorts(options.ports)
    const project = projectAt(options.root)
    const config = new Config(project.config, ports, options)
    await config.open()
    const kernel = new Kernel(options, ports, project, config)
    try {
      options.prepare?.(kernel)
      await config.verify()
      await kernel.host.boot(options.builtins)
      await config.verify()
      for (const { path, message } of config.unknownKeys()) kernel.log.warn({}, `${config.file}: ${path}: ${message}`)
      await kernel.host.start()
      if (['daemon', 'server', 'mcp'].some(role => kernel.roles.has(role as Role))) kernel.#follow()
    } catch (error) {
      await kernel.close()
      throw error
    }
    return kernel
  }

  private constructor(options: KernelOptions, ports: Ports, project: Project, config: Config) {
    this.project = project
    this.config = config
    this.roles = new Set(options.roles)
    const root = this.#section(RootConfig, '')
    this.ports = drawnPorts(root.seed === null ? ports : { ...ports, random: keyedRandom(root.seed) })
    this.log = createLog({ ...options.log, secrets: secretsOf({ ports, config }) })
    this.points = new Points(this.hooks, ports.clock)
    this.#declareHooks()
    config.checkWith(() => this.list(ConfigChecks))
    const plugins = this.#pluginsConfig(options)
    const beat = this.#section(HeartbeatConfig, 'daemon')
    this.heartbeat = new Heartbeat({
      ...{ hooks: this.hooks, points: this.points, ports: this.ports, log: this.log, config: beat },
      scheduler: () => this.services.use(SchedulerToken),
      tape: () => (this.services.has(TapeToken) ? this.services.use(TapeToken) : undefined),
      onBeat: async () => {
        await this.#reloadConfig()
        this.#watch.beat()
      },
    })
    this.host = new Host({
      ...{
        hooks: this.hooks,
        points: this.points,
        services: this.services,
        config,
        ports: this.ports,
        log: this.log,
        project,
      },
      settings: plugins,
      roles: this.roles,
      heartbeat: this.heartbeat,
      guardsFailClosed: () => beat.guards_fail_closed,
      invoke: (name, input, call) => this.invoke(name, input, call),
      modules: options.modules ?? (async () => ({})),
      hindrance: hindranceOf(options, project, ports, this.log),
    })
    this.services.provide(HostToken, this.host, 'kernel')
    const { builtins, modules } = options
    const open: Opener['open'] = ({ also = [], ...other }) => {
      // A project of trials has no plugin files: what it needs of this one's plugins is in `also`.
      const own = { builtins: [...builtins, ...also], pluginFiles: 'none' as const }
      return Kernel.open({ ...own, ...(modules ? { modules } : {}), ...other })
    }
    this.services.provide(OpenerToken, { open }, 'kernel')
    if (options.restart) this.services.provide(RestartToken, options.restart, 'kernel')
    const dev = options.dev ?? false
    const heartbeat = () => beat.heartbeat
    const folders = project.plugins
    const { clock, files } = this.ports
    this.#watch = new PluginWatch({ host: this.host, folders, files, clock, log: this.log, dev, heartbeat })
  }

  /** Plugins are followed by the beat; a process that has none has a timer of the same length. */
  #follow(): void {
    if (this.config.get('plugins.enabled')) void this.#watch.start()
    if (!this.roles.has('daemon')) this.#turn()
  }

  #turn(): void {
    this.#cancelTurn = this.ports.clock.after(Number(this.config.get('daemon.heartbeat')) * 1000, () => {
      this.#turn()
      if (this.heartbeat.live) return
      this.#watch.beat()
      void this.#reloadConfig()
    })
  }

  #section<S extends z.ZodObject>(shape: S, section: string): z.output<S> {
    const { view, add } = this.config.prepare<z.output<S>>(section, shape, 'kernel')
    add()
    return view
  }

  /** The settings of plugins. The keys of a builtin that is disabled stay known: what asks for it is checked with the rest. */
  #pluginsConfig({ builtins, lenient = false }: KernelOptions): PluginsConfig {
    const settings = this.#section(PluginsConfig, 'plugins')
    this.points.add(ConfigChecks, disabledCheck(builtins), 'kernel')
    const [off, files] = [true, false].map(is =>
      settings.disabled.filter(name => builtins.some(builtin => builtin.name === name) === is),
    )
    if (lenient) return { ...settings, disabled: files! }
    for (const { name, section = name, config } of builtins)
      if (off!.includes(name) && config) this.config.prepare(section, config, name).add()
    return settings
  }

  #declareHooks(): void {
    const failed = (tap: string, error: unknown) =>
      this.log.error({ plugin: tap }, `a handler failed: ${sentenceOf(error)}`)
    for (const [name, schema] of Object.entries(LIFECYCLE)) {
      this.hooks.declareEvent(name, schema, { failed, limit_ms: HANDLER_LIMIT_MS, clock: this.ports.clock })
    }
    for (const phase of PHASES) this.hooks.declare<Cycle, void>(phase, { kind: 'series' })
    // A point comes to be when it is first looked at; those of the kernel are there to be tapped from the beginning.
    for (const point of [Guards, WakeSources, GoalStrategies, Toolkits, Operations]) this.points.list<never>(point)
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
    this.#closing ??= Promise.allSettled([this.#watch.close(), this.heartbeat.stop()]).then(() => this.host.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/**
 * Returns why no code of the project may run now; undefined where it may. Warns once that the project is not trusted.
 * @param found number of plugin files that do not run for it; without any there is nothing to warn of
 */
function hindranceOf({ pluginFiles = 'trusted' }: KernelOptions, { root }: Project, ports: Ports, log: Log) {
  let hasWarned = false
  return async (found = 0): Promise<string | undefined> => {
    if (pluginFiles === 'all') return undefined
    if (pluginFiles === 'none') return 'is not run by this process'
    if (await isTrusted(root, ports)) return undefined
    if (found > 0 && !hasWarned) log.warn({}, untrustedSentence(root))
    hasWarned ||= found > 0
    return untrustedSentence(root)
  }
}

/** Where things lie in the project at `root`. */
export function projectAt(root: string): Project {
  const at = resolve(root)
  const svc = join(at, '.svc')
  return {
    root: at,
    svc,
    config: join(svc, 'config.yaml'),
    database: join(svc, 'svc.db'),
    workspaces: join(svc, 'workspaces'),
    plugins: [join(at, 'plugins'), join(svc, 'plugins')],
  }
}
