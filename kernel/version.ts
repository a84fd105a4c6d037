import { Activity } from './activity.ts'
import { sentenceOf } from './errors.ts'
import { type HandleParts, PluginHandle } from './handle.ts'
import { whereOf } from './loader.ts'
import type { PluginDefinition } from './plugin.ts'
import { within } from './ports.ts'
import { Scope } from './scope.ts'

/** How long one resource of a file's plugin may take to start, and an undoing to end, in milliseconds. */
const RESOURCE_LIMIT_MS = 5_000

/** A definition with where it came from. */
export interface Loaded {
  definition: PluginDefinition
  /** `builtin`, `code`, or the file. */
  origin: string
  load_ms: number
}

export interface VersionParts extends Omit<HandleParts, 'scope' | 'builtin' | 'activity' | 'previous' | 'where'> {
  failed: (version: Version, what: string, error: unknown, suspended: boolean) => void
  watch: ((plugin: string, what: string | undefined) => void) | undefined
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
  readonly #parts: VersionParts
  readonly #handle: PluginHandle
  #shown: Scope
  #resources: Scope

  /** Runs `setup`, which only records. @throws what `setup` throws, and for a bad configuration */
  constructor(loaded: Loaded, parts: VersionParts, state?: unknown) {
    const { definition, origin, load_ms } = loaded
    const { name } = definition
    const builtin = origin === 'builtin'
    this.definition = definition
    this.origin = origin
    this.load_ms = load_ms
    this.#parts = parts
    const { watch } = parts
    this.activity = new Activity({
      plugin: name,
      now: () => parts.ports.clock.monotonic(),
      failed: (what, error, suspended) => parts.failed(this, what, error, suspended),
      ...(watch && !builtin ? { watch: what => watch(name, what) } : {}),
    })
    this.#shown = new Scope(name)
    this.#resources = new Scope(name)
    const previous = definition.state ? definition.state.safeParse(state).data : undefined
    const where = (error: unknown) => whereOf(error, origin)
    this.#handle = new PluginHandle(name, {
      ...parts,
      scope: this.#shown,
      builtin,
      activity: this.activity,
      previous,
      where,
    })
    const section = definition.section ?? (builtin ? name : `plugins.config.${name}`)
    const config = definition.config ? this.#handle.section(section, definition.config) : {}
    const returned: unknown = definition.setup(this.#handle, config)
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
    return [...this.#shown.labels, ...this.#resources.labels]
  }

  /** Whether it holds something in processes like this one that must be started and stopped. */
  get hasResources(): boolean {
    return this.#startable().length > 0
  }

  /** What it hands over to the next version. @throws what the plugin throws */
  handOver(): unknown {
    return this.#handle.handedOver()
  }

  /** Makes visible what it registered, in two rounds: what others may name, then what names it. @throws ConflictError, UnknownHookError; then nothing is shown */
  show(rank: 0 | 1): void {
    if (this.#shown.closed) this.#shown = this.#handle.moveTo(new Scope(this.name))
    this.#handle.activate(rank)
    this.since = this.#parts.ports.clock.monotonic()
  }

  /** Takes back what is visible, at once. */
  hide(): void {
    this.#handle.rest()
    void this.#shown.close().then(failures => this.#tell(failures))
  }

  /** @throws what a resource throws, or TimeLimitError; call `stop` then */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#resources.closed) this.#resources = new Scope(this.name)
    const scope = this.#resources
    for (const resource of this.#startable()) {
      const started = (async () => {
        const undo = await resource.start(signal)
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
    return this.#handle.resources.filter(resource => resource.in.some(role => this.#parts.roles.has(role)))
  }

  #tell(failures: readonly unknown[]): void {
    for (const failure of failures) this.#parts.log.error({ plugin: this.name }, sentenceOf(failure))
  }
}
