import {
  type Clock,
  errorMessage,
  isOfProgram,
  type Kernel,
  type LoadedPlugin,
  Operations,
  type PluginDefinition,
  type PluginHost,
  type PluginSource,
  type PluginState,
  type PluginSupport,
  type Retry,
  type SvcError,
  type Undo,
} from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { stemOf } from '#lib/plugin-file'
import { Calls } from './calls.ts'
import { CircuitBreaker, failureRate } from './circuit-breaker.ts'
import type { PluginsConfig } from './config.ts'
import { type DryRun, type PluginFile, type Supervisor, SupervisorToken } from './contract.ts'
import { dryRun } from './dry-run.ts'
import { PluginInterceptor } from './interceptor.ts'
import { checkDefinition, Loader, type LoaderParts, waitUntilSettled } from './loader.ts'
import { packageTimers } from './package-timers.ts'
import { failureOf, locateError } from './plugin-failure.ts'
import { retryAfter } from './retry.ts'
import { PluginWatch } from './watch.ts'

/** Time after a swap within which a failing version is rolled back, in milliseconds. */
const PROBATION_MS = 300_000

export interface PluginFilesOptions extends Pick<LoaderParts, 'modules' | 'blockedReason'> {
  settings: PluginsConfig
  /** Clock that times and limits calls of plugins' code. It is not recorded: a replay runs the same code uncounted. */
  meter: Pick<Clock, 'monotonic' | 'after'>
  /** Whether changes on disk go live as soon as they are written. */
  dev: boolean
  /** Sources of plugins that come before the files. */
  before: readonly PluginSource[]
  /** Returns the file of a builtin that was loaded from its sources. */
  fileOf?: ((builtin: string) => string | undefined) | undefined
}

/** Finds, loads and watches plugin files, counts their calls and explains their failures. */
export class PluginFiles implements PluginSource, PluginSupport {
  readonly sources: readonly PluginSource[]
  readonly blockedReason: LoaderParts['blockedReason']
  readonly #kernel: Kernel
  readonly #settings: PluginsConfig
  readonly #meter: PluginFilesOptions['meter']
  readonly #fileOf: PluginFilesOptions['fileOf']
  readonly #loader: Loader
  readonly #watch: PluginWatch
  /** Interceptors of the versions that accept calls now, by plugin name. */
  readonly #taking = new Map<string, PluginInterceptor>()

  constructor(kernel: Kernel, { settings, meter, modules, blockedReason, dev, before, fileOf }: PluginFilesOptions) {
    this.#kernel = kernel
    this.sources = [...before, this]
    this.blockedReason = blockedReason
    const { config, ports, project, log } = kernel
    this.#settings = settings
    this.#meter = meter
    this.#fileOf = fileOf
    const allowlist = () => settings.allowlist
    const watch: Supervisor['watch'] = (...code) => this.#supervisor?.watch(...code)
    this.#loader = new Loader({ ports, project, log, modules, blockedReason, watch, allowlist })
    this.#watch = new PluginWatch({
      files: ports.files,
      clock: ports.clock,
      folders: project.plugins,
      log,
      dev,
      findChanged: () => kernel.host.listChanged(),
      heartbeat: () => Number(config.get('daemon.heartbeat')),
    })
  }

  get #supervisor(): Supervisor | undefined {
    const { services } = this.#kernel
    return services.has(SupervisorToken) ? services.use(SupervisorToken) : undefined
  }

  /** Service for `HostToken`: the host's own methods, and those for plugin files. */
  get service(): PluginHost {
    const kernel = this.#kernel
    const service: PluginHost = {
      list: () => kernel.host.list(),
      apply: only => kernel.host.apply(only),
      listChanged: () => kernel.host.listChanged(),
      check: file => this.check(file),
      load: file => this.definitionIn(file),
      blame: (...failure) => this.blame(...failure),
      definitions: () => this.definitions(),
      leftTimers: () => packageTimers.leftTimers(),
      blockedReason: found => this.blockedReason(found),
    }
    return withEarlierNames(service, { ofFiles: 'definitions', hindrance: 'blockedReason' })
  }

  get unloaded(): readonly PluginState[] {
    return this.#loader.unloaded
  }

  async find(concerns?: (file: PluginFile) => boolean): Promise<PluginFile[]> {
    if (!this.#settings.enabled) return []
    const find = () => this.#loader.find()
    return concerns ? waitUntilSettled(find, concerns, this.#kernel.ports.clock) : find()
  }

  async load(file: PluginFile, isRequested: boolean): Promise<LoadedPlugin> {
    await this.#supervisor?.admit(file, isRequested)
    return this.#loader.load(file)
  }

  retryAfter(cause: unknown, { origin }: PluginFile): Retry | undefined {
    return retryAfter(cause, origin, this.#kernel)
  }

  onChange(apply: () => Promise<unknown>): Undo {
    const lasts = (['daemon', 'server', 'mcp'] as const).some(role => this.#kernel.roles.has(role))
    this.#watch.start(apply, lasts && this.#settings.enabled)
    return () => this.#watch.close()
  }

  tick(): void {
    this.#watch.tick()
  }

  checkDefinition(definition: unknown): PluginDefinition {
    try {
      return checkDefinition(definition, false)
    } catch (cause) {
      throw failureOf(String(Object(definition).name ?? 'unnamed'), 'code', cause)
    }
  }

  explain(plugin: string, origin: string, cause: unknown): SvcError {
    return failureOf(plugin, (origin === 'builtin' && this.#fileOf?.(plugin)) || origin, cause)
  }

  intercept({ definition: { name }, origin }: LoadedPlugin): PluginInterceptor | undefined {
    if (origin === 'builtin') return undefined
    const clock = this.#meter
    const where = (error: unknown) => locateError(error, origin)
    let since = 0
    const breaker = new CircuitBreaker({
      max_failures: this.#settings.max_failures,
      clock,
      locate: where,
      onFailure: (what, error, suspends) =>
        this.#recordFailure(name, interceptor, { problem: `${what}: ${errorMessage(error)}`, suspends, since }),
    })
    const calls = new Calls({
      plugin: name,
      breaker,
      clock,
      heir: () => this.#taking.get(name)?.calls,
      watch: what => this.#supervisor?.watch(name, origin, what),
    })
    const interceptor = new PluginInterceptor({
      plugin: name,
      calls,
      breaker,
      locate: where,
      log: this.#kernel.log.child({ plugin: name }),
      outputOf: operation => this.#kernel.points.find(Operations, operation)?.output,
      setUp: setup => (isOfProgram(origin) ? setup() : this.#setUp(setup)),
      onOpen: () => {
        since = clock.monotonic()
        this.#taking.set(name, interceptor)
      },
      onClose: () => {
        if (this.#taking.get(name) === interceptor) this.#taking.delete(name)
      },
    })
    return interceptor
  }

  /** Runs the setup of a file without the database, which is not open yet when a process starts. */
  #setUp<R>(setup: () => R): R {
    const error = 'the database opens after setup: call svc.use(Store) where you need it, as in run() of an operation'
    const release = this.#kernel.services.withhold('store', () => new TypeError(error))
    try {
      return setup()
    } finally {
      release()
    }
  }

  /**
   * Counts a failure of a plugin's code. A version that fails too often is rolled back to the previous one if that
   * failed less, or suspended.
   */
  #recordFailure(
    plugin: string,
    interceptor: PluginInterceptor,
    { problem, suspends, since }: { problem: string; suspends: boolean; since: number },
  ): void {
    const { host, log } = this.#kernel
    const version = [...host.live.values()].find(each => each.interceptor === interceptor)
    if (!version) return
    const { breaker } = interceptor
    const before = version.previous?.interceptor?.report()
    const isYoung = this.#meter.monotonic() - since < PROBATION_MS
    const isWorse = before !== undefined && failureRate(breaker) > 2 * failureRate(before)
    if (isYoung && isWorse && (suspends || breaker.failsOften)) host.rollBack(version, problem)
    else if (suspends) log.error({ plugin }, `is suspended: its code failed several times in a row (${problem})`)
  }

  /** Counts an uncaught error as a failure of the plugin that caused it, if the plugin is live. */
  blame(plugin: string, what: string, error: unknown): void {
    this.#taking.get(plugin)?.breaker.recordFailure(what, error)
  }

  /**
   * Returns what a plugin's file would register in this process, without making it live.
   * @throws PluginError with file and line
   */
  check(file: string): Promise<DryRun> {
    return this.#tryOut(file, loaded => {
      try {
        return dryRun(loaded, this.#kernel)
      } finally {
        loaded.remains?.close()
      }
    })
  }

  /**
   * Returns the definition in a plugin's file, in any folder, without making it live.
   * @throws PluginError with file and line
   */
  definitionIn(file: string): Promise<PluginDefinition> {
    return this.#tryOut(file, ({ definition }) => definition)
  }

  #tryOut<T>(path: string, work: (loaded: LoadedPlugin) => T): Promise<T> {
    return this.#kernel.host.runExclusive(async () => {
      let plugin = stemOf(path)
      try {
        const file = await this.#loader.look(path)
        this.#supervisor?.examine(file)
        const loaded = await this.#loader.load(file)
        plugin = loaded.definition.name
        return work(loaded)
      } catch (cause) {
        throw failureOf(plugin, path, cause)
      }
    })
  }

  /** Returns the definitions of live plugins from files, with their own keys, to try them in another project. */
  definitions(): PluginDefinition[] {
    return [...this.#kernel.host.live.values()]
      .filter(({ origin }) => !isOfProgram(origin))
      .map(({ definition }) => ({ section: `plugins.config.${definition.name}`, ...definition }))
  }
}
