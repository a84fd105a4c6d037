import { Activity } from './activity.ts'
import { ConflictError, type SvcError, sentenceOf } from './errors.ts'
import { type HandleParts, PluginHandle } from './handle.ts'
import { isFile } from './loader.ts'
import type { PluginDefinition } from './plugin.ts'
import { whereOf } from './plugin-error.ts'
import type { PluginTimers } from './plugin-timers.ts'
import { type Clock, within } from './ports.ts'
import type { Resource } from './project.ts'
import { Registrations } from './registrations.ts'
import { Scope } from './scope.ts'
import type { PluginState } from './state.ts'
import type { Supervisor } from './supervisor.ts'

/** How long one resource of a file's plugin may take to start, and an undoing to end, in milliseconds. */
const RESOURCE_LIMIT_MS = 5_000

/** A definition with where it came from. */
export interface Loaded {
  definition: PluginDefinition
  /** `builtin`, `code`, or the file. */
  origin: string
  load_ms: number
  /** Those that its files see, where it came from files. */
  timers?: PluginTimers
}

export interface VersionParts
  extends Omit<HandleParts, 'registrations' | 'builtin' | 'ofFile' | 'activity' | 'previous' | 'where'> {
  /** Times and limits its calls. No recording keeps what it says: a replay runs the same code uncounted. */
  meter: Pick<Clock, 'monotonic' | 'after'>
  /** So many failures in a row suspend its code. */
  max_failures: number
  failed: (version: Version, what: string, error: unknown, suspended: boolean) => void
  /** The version that is live under a name. */
  heir: (name: string) => Activity | undefined
  watch: Supervisor['watch']
}

/**
 * One version of a plugin, from its setup to its end. What it registered can be shown and hidden at once, without an await
 * in between; its resources start after that and stop before.
 */
export class Version implements Loaded {
  readonly definition: PluginDefinition
  readonly origin: string
  readonly load_ms: number
  readonly activity: Activity
  /** The one that this one replaced, to go back to. */
  previous: Version | undefined
  /** When it was shown last, in monotonic milliseconds. */
  since = 0
  readonly #timers: PluginTimers | undefined
  readonly #parts: VersionParts
  readonly #registrations: Registrations
  #resources: Scope

  /** Runs `setup`, which only records. @throws what `setup` throws, and for a bad configuration */
  constructor(loaded: Loaded, parts: VersionParts, state?: unknown) {
    const { definition, origin, load_ms, timers } = loaded
    const { name } = definition
    const builtin = origin === 'builtin'
    this.definition = definition
    this.origin = origin
    this.load_ms = load_ms
    this.#timers = timers
    this.#parts = parts
    const where = (error: unknown) => whereOf(error, origin)
    this.activity = new Activity({
      plugin: name,
      max_failures: parts.max_failures,
      clock: parts.meter,
      where,
      failed: (what, error, suspended) => parts.failed(this, what, error, suspended),
      heir: () => parts.heir(name),
      watch: what => (builtin ? undefined : parts.watch(name, origin, what)),
    })
    this.#registrations = new Registrations(name)
    this.#resources = new Scope(name)
    const previous = definition.state?.safeParse(state)
    if (previous && !previous.success && state !== undefined) {
      parts.log.info(
        { plugin: name },
        `starts afresh: the state handed over does not fit (${previous.error.issues[0]?.message})`,
      )
    }
    const section = definition.section ?? (builtin ? name : `plugins.config.${name}`)
    const handle = new PluginHandle(name, {
      ...parts,
      registrations: this.#registrations,
      builtin,
      // One that is tried out in another house comes with the program there; by its keys it is known.
      ofFile: !builtin || section.startsWith('plugins.config.'),
      activity: this.activity,
      previous: previous?.data,
      where,
    })
    const config = definition.config ? handle.section(section, definition.config) : {}
    const returned: unknown = this.activity.enter('setup', () => definition.setup(handle, config))
    if (returned instanceof Promise) {
      returned.catch(() => {})
      throw new TypeError(
        'its setup is async, but setup only declares; what waits goes into svc.start(async () => { … })',
      )
    }
  }

  get name(): string {
    return this.definition.name
  }

  /** What it holds now, in words. */
  get labels(): string[] {
    return [...this.#registrations.labels, ...this.#resources.labels]
  }

  /** What people are shown of it. */
  get outline(): Pick<PluginState, 'name' | 'version' | 'origin' | 'state'> {
    const { name, definition, origin } = this
    return { name, version: definition.version ?? '', origin, state: this.activity.suspended ? 'suspended' : 'live' }
  }

  get state(): Omit<PluginState, 'error' | 'swaps' | 'swap_ms' | 'swapped_at'> {
    const { definition, labels, load_ms } = this
    const { calls, failures, lastFailure } = this.activity
    return {
      ...this.outline,
      description: definition.description ?? '',
      registered: labels,
      ...{ calls, failures, last_failure: lastFailure, load_ms },
    }
  }

  /** Whether it holds something in processes like this one that must be started and stopped. */
  get hasResources(): boolean {
    return this.#startable().length > 0
  }

  /** What `setup` recorded to be started, in processes of any role. */
  get resources(): readonly Resource[] {
    return this.#registrations.resources
  }

  /** What it hands over to the next version. What throws, or does not fit there, is a fresh start. */
  handOver(): unknown {
    try {
      return this.activity.enter('hand-over', () => this.#registrations.handOver?.())
    } catch (error) {
      this.#parts.log.warn({ plugin: this.name }, `its state was not handed over: ${sentenceOf(error)}`)
      return undefined
    }
  }

  /** Makes visible what it registered, in two rounds: what others may name, then what names it. @throws ConflictError, UnknownHookError; then nothing is shown */
  show(rank: 0 | 1): void {
    this.#registrations.show(rank)
    this.activity.revive()
    this.#timers?.open()
    this.since = this.#parts.ports.clock.monotonic()
  }

  /** Takes back what is visible, at once. */
  hide(): void {
    this.activity.retire()
    void this.#registrations.hide().then(failures => this.#tell(failures))
  }

  /** Ends what it is still at: calls, for their callers, and timers. */
  dispose(): void {
    this.activity.dispose()
    this.#timers?.close()
  }

  /** @throws what a resource throws, or TimeLimitError; call `stop` then */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#resources.closed) this.#resources = new Scope(this.name)
    const scope = this.#resources
    for (const resource of this.#startable()) {
      const started = (async () => {
        const undo = await this.activity.enter('start', () => resource.start(signal))
        if (undo) scope.hold('resource', undo)
      })()
      // A builtin may take its time, as for a migration; a file that hangs must not keep the rest from starting.
      if (this.origin === 'builtin') await started
      else await within(this.#parts.ports.clock, RESOURCE_LIMIT_MS, `Starting "${this.name}"`, started)
    }
  }

  /** Stops the resources, last first. One that does not end is left behind, and said so. */
  async stop(): Promise<void> {
    const closed = this.#resources.close()
    if (this.origin === 'builtin') return this.#tell(await closed)
    const limit = within(this.#parts.ports.clock, RESOURCE_LIMIT_MS, `Stopping "${this.name}"`, closed)
    this.#tell(await limit.catch(error => [error]))
  }

  #startable() {
    return this.#registrations.resources.filter(resource => resource.in.some(role => this.#parts.roles.has(role)))
  }

  #tell(failures: readonly unknown[]): void {
    for (const failure of failures) this.#parts.log.error({ plugin: this.name }, sentenceOf(failure))
  }
}

/** Why a plugin cannot be live: another one has its name. */
export function taken({ name, origin }: Pick<Version, 'name' | 'origin'>): SvcError {
  const by = isFile(origin) ? origin : 'a part of the program'
  return new ConflictError({ sentence: `the name "${name}" is taken by ${by}; give this plugin another` })
}
