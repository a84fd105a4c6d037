import { ConflictError, describeIssues, errorMessage, type SvcError } from '../errors.ts'
import { PluginHandle, type SharedParts } from '../handle.ts'
import type { Interceptor } from '../interceptor.ts'
import { issuesOf } from '../operations.ts'
import type { PluginDefinition } from '../plugin.ts'
import { withTimeLimit } from '../ports.ts'
import { Scope } from '../scope.ts'
import { isOfProgram, type LoadedPlugin } from '../source.ts'
import { Registrations } from './registrations.ts'
import type { PluginState } from './state.ts'

/** Time limit for one resource of a plugin file to start or stop, in milliseconds. */
const RESOURCE_LIMIT_MS = 5_000

/**
 * One version of a plugin, from its setup to its end. Its registrations are shown and hidden without an await in
 * between; its resources start after that and stop before.
 */
export class Version implements LoadedPlugin {
  readonly definition: PluginDefinition
  readonly origin: string
  readonly stem: string | undefined
  readonly load_ms: number
  readonly interceptor: Interceptor | undefined
  /** Version that this one replaced, for a rollback. */
  previous: Version | undefined
  /** Labels of the services that `setup` provides, without those of `base`. */
  readonly provides: readonly string[]
  /** Whether its registrations are visible. */
  isShown = false
  /** Number of replacements of the plugin, and the last one. */
  swapped: Pick<PluginState, 'swaps' | 'swap_ms' | 'swapped_at'> = { swaps: 0, swap_ms: null, swapped_at: null }
  readonly #remains: LoadedPlugin['remains']
  readonly #kernel: SharedParts
  readonly #registrations: Registrations
  #resources: Scope

  /**
   * Runs `setup`, which only records. @param replaced the module that it replaces @throws errors of `setup`, also for a
   * bad configuration or a missing service
   */
  constructor(
    loaded: LoadedPlugin,
    kernel: SharedParts,
    interceptor?: Interceptor,
    { state, replaced }: { state?: unknown; replaced?: Version | undefined } = {},
  ) {
    const { definition, origin, stem, load_ms, remains } = loaded
    const { name } = definition
    this.definition = definition
    this.origin = origin
    this.stem = stem
    this.load_ms = load_ms
    this.#remains = remains
    this.#kernel = kernel
    this.interceptor = interceptor
    this.#registrations = new Registrations(name)
    this.#resources = new Scope(name)
    const previous = definition.state?.safeParse(state)
    if (previous && !previous.success && state !== undefined) {
      kernel.log.info(
        { plugin: name },
        `starts without the state of the previous version, which does not match the schema (${describeIssues(issuesOf(previous.error))})`,
      )
    }
    const handed = { registrations: this.#registrations, previous: previous?.data }
    const handleOf = ({ definition: { name, section, config }, origin }: LoadedPlugin) => {
      const builtin = origin === 'builtin'
      const at = section ?? (builtin ? name : `plugins.config.${name}`)
      // A simulation or a replay loads plugin files as modules; the section of their configuration still shows what
      // they are.
      const ofFile = !builtin || at.startsWith('plugins.config.')
      const own = { builtin, ofFile, interceptor: builtin ? undefined : interceptor }
      const handle = new PluginHandle(name, kernel, { ...handed, ...own })
      return [handle, config ? handle.section(at, config) : {}] as const
    }
    const own = handleOf(loaded)
    const returned: unknown = this.#run('setup', () => definition.setup(...own))
    if (returned instanceof Promise) {
      returned.catch(() => {})
      throw new TypeError(
        'its setup is async, but setup must only declare; move asynchronous work into svc.start(async () => { … })',
      )
    }
    for (const [service, value] of Object.entries(returned ?? {})) own[0].provide({ name: service }, value)
    this.provides = this.#registrations.recordedLabels.filter(label => /^provides [^/]+$/.test(label))
    const lacking = replaced ? replaced.provides.filter(label => !this.provides.includes(label)) : []
    if (lacking.length > 0)
      throw new TypeError(`lacks what "${replaced!.name}" has: ${lacking.join(', ')}; return it from setup`)
    const { base } = (replaced ?? this).definition
    const [svc, values] = base && replaced ? handleOf(replaced) : own
    // Services that this version provides replace those that the module leaves.
    const covers = (name: string) => this.provides.includes(`provides ${name}`)
    if (svc !== own[0]) svc.provide = (token, value) => (covers(token.name) ? () => {} : own[0].provide(token, value))
    base?.(svc, values)
  }

  /** Name under which others need it: its own, or that of the module that it replaces. */
  get place(): string {
    return this.definition.replaces ?? this.name
  }

  get name(): string {
    return this.definition.name
  }

  /** Labels of this version's registrations and resources. */
  get labels(): string[] {
    return [...this.#registrations.labels, ...this.#resources.labels]
  }

  /** State of the plugin for display. */
  get state(): Omit<PluginState, 'error'> {
    const { definition, origin, name, labels, load_ms } = this
    const { description = '', version = '' } = definition
    const { isSuspended, calls = 0, failures = 0, last_failure = null } = this.interceptor?.report() ?? {}
    const state = isSuspended ? 'suspended' : 'live'
    const counts = { calls, failures, last_failure, load_ms, ...this.swapped }
    return { name, description, version, origin, state, registered: labels, ...counts }
  }

  /** Whether it has resources that start in processes of this role. */
  get hasResources(): boolean {
    return this.#startable().length > 0
  }

  /** Resources that `setup` declared, for processes of any role. */
  get resources() {
    return this.#registrations.resources
  }

  /** Returns the state for the next version; undefined if that throws or does not match its schema. */
  handOver(): unknown {
    try {
      return this.#run('hand-over', () => this.#registrations.handOver?.())
    } catch (error) {
      this.#kernel.log.warn({ plugin: this.name }, `its state was not handed over: ${errorMessage(error)}`)
      return undefined
    }
  }

  /**
   * Shows its registrations in two rounds: what others may name, then what names it. @param ranks the rounds, both by
   * default @throws ConflictError, UnknownHookError; then nothing is shown
   */
  show(...ranks: (0 | 1)[]): void {
    for (const rank of ranks.length > 0 ? ranks : ([0, 1] as const)) this.#registrations.show(rank)
    this.isShown = true
    this.interceptor?.open()
    this.#remains?.open()
  }

  /** Hides its registrations. */
  hide(): void {
    this.isShown = false
    this.interceptor?.close()
    void this.#registrations.hide().then(failures => this.#logFailures(failures))
  }

  /** Rejects running calls for their callers, and ends side effects of loading it. */
  dispose(): void {
    this.interceptor?.dispose()
    this.#remains?.close()
  }

  /** Starts the resources. @throws errors of a resource, or TimeLimitError; call `stop` then */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#resources.isClosed) this.#resources = new Scope(this.name)
    const scope = this.#resources
    for (const resource of this.#startable()) {
      const started = (async () => {
        const undo = await this.#run('start', () => resource.start(signal))
        if (undo && typeof undo !== 'function') throw new TypeError('svc.start must return a cleanup function, if any')
        if (undo) scope.hold('resource', undo)
      })()
      // A module may take long, as for a migration; a plugin file that hangs must not block the others.
      if (this.origin === 'builtin') await started
      else await withTimeLimit(this.#kernel.ports.clock, RESOURCE_LIMIT_MS, `Starting "${this.name}"`, started)
    }
  }

  /** Stops the resources, last first. One that does not stop in time is logged and left behind. */
  async stop(): Promise<void> {
    const closed = this.#resources.close()
    if (this.origin === 'builtin') return this.#logFailures(await closed)
    const limit = withTimeLimit(this.#kernel.ports.clock, RESOURCE_LIMIT_MS, `Stopping "${this.name}"`, closed)
    this.#logFailures(await limit.catch(error => [error]))
  }

  #run<R>(what: string, fn: () => R): R {
    return this.interceptor ? this.interceptor.run(what, fn) : fn()
  }

  #startable() {
    return this.#registrations.resources.filter(resource => resource.in.some(role => this.#kernel.roles.has(role)))
  }

  #logFailures(failures: readonly unknown[]): void {
    for (const failure of failures) this.#kernel.log.error({ plugin: this.name }, errorMessage(failure))
  }
}

/** Returns the error of a plugin whose name is taken. */
export function nameTakenError({ name, origin }: Pick<Version, 'name' | 'origin'>): SvcError {
  const by = isOfProgram(origin) ? `a part of the program (to replace it, add replaces: '${name}')` : origin
  return new ConflictError({ message: `the name "${name}" is taken by ${by}; give this plugin another name` })
}
