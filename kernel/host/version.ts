import { ConflictError, errorMessage, type SvcError } from '../errors.ts'
import { type HandleParts, PluginHandle } from '../handle.ts'
import type { Interceptor } from '../interceptor.ts'
import type { PluginDefinition } from '../plugin.ts'
import { withTimeLimit } from '../ports.ts'
import { Scope } from '../scope.ts'
import { isOfProgram, type LoadedPlugin } from '../source.ts'
import { Registrations } from './registrations.ts'
import type { PluginState } from './state.ts'

/** How long one resource of a file's plugin may take to start, and an undoing to end, in milliseconds. */
const RESOURCE_LIMIT_MS = 5_000

export type VersionParts = Omit<HandleParts, 'registrations' | 'builtin' | 'ofFile' | 'interceptor' | 'previous'>

/**
 * One version of a plugin, from its setup to its end. What it registered can be shown and hidden at once, without an await
 * in between; its resources start after that and stop before.
 */
export class Version implements LoadedPlugin {
  readonly definition: PluginDefinition
  readonly origin: string
  readonly stem: string | undefined
  readonly load_ms: number
  readonly interceptor: Interceptor | undefined
  /** The one that this one replaced, to go back to. */
  previous: Version | undefined
  /** The labels of the services that `setup` provides for others, without those of `base`. */
  readonly provides: readonly string[]
  /** Whether what it registered is visible. */
  isShown = false
  /** How often versions of the plugin were replaced, and the last time. */
  swapped: Pick<PluginState, 'swaps' | 'swap_ms' | 'swapped_at'> = { swaps: 0, swap_ms: null, swapped_at: null }
  readonly #remains: LoadedPlugin['remains']
  readonly #parts: VersionParts
  readonly #registrations: Registrations
  #resources: Scope

  /**
   * Runs `setup`, which only records.
   * @param replaced the module whose place it takes
   * @throws what `setup` throws, for a bad configuration, and for a service that it lacks
   */
  constructor(
    loaded: LoadedPlugin,
    parts: VersionParts,
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
    this.#parts = parts
    this.interceptor = interceptor
    this.#registrations = new Registrations(name)
    this.#resources = new Scope(name)
    const previous = definition.state?.safeParse(state)
    if (previous && !previous.success && state !== undefined) {
      parts.log.info(
        { plugin: name },
        `starts afresh: the state handed over does not fit (${previous.error.issues[0]?.message})`,
      )
    }
    const handed = { registrations: this.#registrations, previous: previous?.data }
    const handleOf = ({ definition: { name, section, config }, origin }: LoadedPlugin) => {
      const builtin = origin === 'builtin'
      const at = section ?? (builtin ? name : `plugins.config.${name}`)
      // A simulation or a replay brings up the plugins of files as builtins; their section still says what they are.
      const ofFile = !builtin || at.startsWith('plugins.config.')
      const own = { builtin, ofFile, interceptor: builtin ? undefined : interceptor }
      const handle = new PluginHandle(name, { ...parts, ...handed, ...own })
      return [handle, config ? handle.section(at, config) : {}] as const
    }
    const own = handleOf(loaded)
    const returned: unknown = this.#run('setup', () => definition.setup(...own))
    if (returned instanceof Promise) {
      returned.catch(() => {})
      throw new TypeError(
        'its setup is async, but setup only declares; what waits goes into svc.start(async () => { … })',
      )
    }
    for (const [service, value] of Object.entries(returned ?? {})) own[0].provide({ name: service }, value)
    this.provides = this.#registrations.recordedLabels.filter(label => /^provides [^/]+$/.test(label))
    const lacking = replaced ? replaced.provides.filter(label => !this.provides.includes(label)) : []
    if (lacking.length > 0)
      throw new TypeError(`lacks what "${replaced!.name}" ${lacking.join(', ')}; return it from setup`)
    const { base } = (replaced ?? this).definition
    const [svc, values] = base && replaced ? handleOf(replaced) : own
    // What this version provides is not covered by what stays of the module.
    const covers = (name: string) => this.provides.includes(`provides ${name}`)
    if (svc !== own[0]) svc.provide = (token, value) => (covers(token.name) ? () => {} : own[0].provide(token, value))
    base?.(svc, values)
  }

  /** The name under which it is needed: its own, or that of the module whose place it takes. */
  get place(): string {
    return this.definition.replaces ?? this.name
  }

  get name(): string {
    return this.definition.name
  }

  /** What it holds now, in words. */
  get labels(): string[] {
    return [...this.#registrations.labels, ...this.#resources.labels]
  }

  /** What people are shown of it. */
  get state(): Omit<PluginState, 'error'> {
    const { definition, origin, name, labels, load_ms } = this
    const { description = '', version = '' } = definition
    const { isSuspended, calls = 0, failures = 0, last_failure = null } = this.interceptor?.report() ?? {}
    const state = isSuspended ? 'suspended' : 'live'
    const counts = { calls, failures, last_failure, load_ms, ...this.swapped }
    return { name, description, version, origin, state, registered: labels, ...counts }
  }

  /** Whether it holds something in processes like this one that must be started and stopped. */
  get hasResources(): boolean {
    return this.#startable().length > 0
  }

  /** What `setup` recorded to be started, in processes of any role. */
  get resources() {
    return this.#registrations.resources
  }

  /** What it hands over to the next version. What throws, or does not fit there, is a fresh start. */
  handOver(): unknown {
    try {
      return this.#run('hand-over', () => this.#registrations.handOver?.())
    } catch (error) {
      this.#parts.log.warn({ plugin: this.name }, `its state was not handed over: ${errorMessage(error)}`)
      return undefined
    }
  }

  /**
   * Makes visible what it registered, in two rounds: what others may name, then what names it.
   * @param ranks the rounds, both by default
   * @throws ConflictError, UnknownHookError; then nothing is shown
   */
  show(...ranks: (0 | 1)[]): void {
    for (const rank of ranks.length > 0 ? ranks : ([0, 1] as const)) this.#registrations.show(rank)
    this.isShown = true
    this.interceptor?.open()
    this.#remains?.open()
  }

  /** Takes back what is visible, at once. */
  hide(): void {
    this.isShown = false
    this.interceptor?.close()
    void this.#registrations.hide().then(failures => this.#logFailures(failures))
  }

  /** Ends what still runs: calls, for their callers, and what came into being by loading it. */
  dispose(): void {
    this.interceptor?.dispose()
    this.#remains?.close()
  }

  /** @throws what a resource throws, or TimeLimitError; call `stop` then */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#resources.isClosed) this.#resources = new Scope(this.name)
    const scope = this.#resources
    for (const resource of this.#startable()) {
      const started = (async () => {
        const undo = await this.#run('start', () => resource.start(signal))
        if (undo) scope.hold('resource', undo)
      })()
      // A builtin may take its time, as for a migration; a file that hangs must not keep the rest from starting.
      if (this.origin === 'builtin') await started
      else await withTimeLimit(this.#parts.ports.clock, RESOURCE_LIMIT_MS, `Starting "${this.name}"`, started)
    }
  }

  /** Stops the resources, last first. One that does not end is left behind, and said so. */
  async stop(): Promise<void> {
    const closed = this.#resources.close()
    if (this.origin === 'builtin') return this.#logFailures(await closed)
    const limit = withTimeLimit(this.#parts.ports.clock, RESOURCE_LIMIT_MS, `Stopping "${this.name}"`, closed)
    this.#logFailures(await limit.catch(error => [error]))
  }

  #run<R>(what: string, fn: () => R): R {
    return this.interceptor ? this.interceptor.run(what, fn) : fn()
  }

  #startable() {
    return this.#registrations.resources.filter(resource => resource.in.some(role => this.#parts.roles.has(role)))
  }

  #logFailures(failures: readonly unknown[]): void {
    for (const failure of failures) this.#parts.log.error({ plugin: this.name }, errorMessage(failure))
  }
}

/** Why a plugin cannot be live: another one has its name. */
export function nameTakenError({ name, origin }: Pick<Version, 'name' | 'origin'>): SvcError {
  const by = isOfProgram(origin) ? 'a part of the program' : origin
  return new ConflictError({ message: `the name "${name}" is taken by ${by}; give this plugin another` })
}
