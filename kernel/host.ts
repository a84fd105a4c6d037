import type { Activity } from './activity.ts'
import { sentenceOf } from './errors.ts'
import { checkDefinition, isFile, Loader, type LoaderParts, stemOf } from './loader.ts'
import { circle, type NeedsError, needsError, order } from './order.ts'
import type { PluginDefinition, PluginFile } from './plugin.ts'
import { failureOf } from './plugin-error.ts'
import type { PluginsConfig } from './plugins-config.ts'
import { type Rehearsal, rehearse } from './rehearsal.ts'
import { Stage } from './stage.ts'
import { absent, type Outcome, type PluginState } from './state.ts'
import { type Supervisor, SupervisorToken } from './supervisor.ts'
import { type Loaded, taken, Version, type VersionParts } from './version.ts'
import { type Seen, waitsFor } from './waiting.ts'

/** A version that fails so soon after it replaced another gives way to it again, in milliseconds. */
const PROBATION_MS = 300_000

export interface HostParts
  extends Omit<VersionParts, 'max_failures' | 'failed' | 'watch' | 'heir'>,
    Pick<LoaderParts, 'modules' | 'hindrance'> {
  settings: PluginsConfig
}

/** Loads plugins, orders them by their needs, makes them live, replaces them and undoes them. */
export class Host {
  readonly hindrance: LoaderParts['hindrance']
  readonly #parts: HostParts
  readonly #loader: Loader
  readonly #stage: Stage
  readonly #seen = new Map<string, Seen>()
  readonly #disabledPlugins = new Map<string, string>()
  readonly #swaps = new Map<string, { count: number; ms: number; at: string }>()
  readonly #stop = new AbortController()
  #applying: Promise<unknown> = Promise.resolve()
  readonly #watch: VersionParts['watch'] = (...code) => this.#supervisor?.watch(...code)

  constructor(parts: HostParts) {
    this.#parts = parts
    this.hindrance = parts.hindrance
    this.#loader = new Loader({ ...parts, watch: this.#watch, allowlist: () => parts.settings.allowlist })
    this.#stage = new Stage({ clock: parts.ports.clock, log: parts.log, signal: this.#stop.signal })
  }

  get #supervisor(): Supervisor | undefined {
    const { services } = this.#parts
    return services.has(SupervisorToken) ? services.use(SupervisorToken) : undefined
  }

  /** Brings up the builtins, then the files' plugins. A builtin that fails fails the start; a file's is logged and left out. */
  async boot(builtins: readonly PluginDefinition[]): Promise<void> {
    const wanted = builtins.filter(({ name }) => !this.#isDisabled(name, 'builtin'))
    const ordered = order(wanted.map(definition => ({ definition, origin: 'builtin', load_ms: 0 })))
    const versions = ordered.map(each => this.#declare(each))
    // Together, because builtins may name each other's points whichever comes first.
    for (const rank of [0, 1] as const) for (const version of versions) version.show(rank)
    for (const version of versions) this.#stage.live.set(version.name, version)
    await this.#apply({ started: false })
    this.#parts.log.info({}, `${this.#stage.live.size} plugins are live`)
  }

  /** Starts the resources of the live plugins, in their order. */
  async start(): Promise<void> {
    for (const version of this.#stage.live.values()) {
      try {
        const hindered = this.#hindered(version.definition)
        if (hindered) throw hindered
        await version.start(this.#stop.signal)
      } catch (error) {
        if (version.origin === 'builtin') throw error
        await this.remove(version.name)
        this.#failed(version.name, version.origin, error)
      }
    }
  }

  /**
   * Applies what changed on disk: new files are loaded, changed ones replaced, removed ones undone. One that cannot be
   * loaded, or cannot take its place, changes nothing but its error.
   * @param only a plugin's name, or its file's: that one alone, loaded again also when it is unchanged
   */
  apply(only?: string): Promise<Outcome[]> {
    return this.#inTurn(() => this.#apply({ started: true, ...(only === undefined ? {} : { only }) }))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#applying.then(work)
    this.#applying = done.catch(() => {})
    return done
  }

  /** The plugin files that are not live as they stand on disk, by how people call them. */
  async changed(): Promise<string[]> {
    const found = this.#parts.settings.enabled ? await this.#loader.find() : []
    const changed = found.filter(each => this.#wants(each))
    const gone = [...this.#seen.values()].filter(each => !found.some(other => other.file === each.file))
    return [...changed, ...gone].map(each => each.stem)
  }

  /** What a plugin's file would register in this process, without it going live. @throws PluginError that says where it would fail */
  check(file: string): Promise<Rehearsal> {
    return this.#inTurn(() =>
      this.#tried(file, loaded => {
        try {
          const old = this.#placeOf(loaded)
          return rehearse(this.#declare(loaded, old), old, this.#parts)
        } finally {
          loaded.timers?.close()
        }
      }),
    )
  }

  /** What a plugin's file, wherever it lies, defines. It does not go live. @throws PluginError that says where it fails */
  load(file: string): Promise<PluginDefinition> {
    return this.#inTurn(() => this.#tried(file, ({ definition }) => definition))
  }

  async #tried<T>(origin: string, work: (loaded: Loaded) => T): Promise<T> {
    let plugin = stemOf(origin)
    try {
      const file = await this.#loader.look(origin)
      this.#supervisor?.examine(file)
      const loaded = { ...(await this.#loader.load(file)), origin }
      plugin = loaded.definition.name
      return work(loaded)
    } catch (cause) {
      throw failureOf(plugin, origin, cause)
    }
  }

  /** Brings up one more plugin while the process runs. @throws what its setup throws, or a resource on starting; nothing of it remains then */
  async add(definition: PluginDefinition, origin = 'code'): Promise<void> {
    try {
      const version = this.#declare({ definition: checkDefinition(definition), origin, load_ms: 0 })
      const other = this.#stage.live.get(version.name)
      if (other) throw taken(other)
      await this.#stage.replace(undefined, version, true)
    } catch (cause) {
      throw isFile(origin) ? failureOf(definition.name, origin, cause) : cause
    }
  }

  /** Undoes one plugin, with what it is at. What its undoings throw is logged; a name that is not live is passed over. */
  async remove(name: string): Promise<void> {
    const version = this.#stage.live.get(name)
    if (version) await this.#stage.end(version)
  }

  /** Undoes all plugins, last first. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#applying
    for (const name of [...this.#stage.live.keys()].reverse()) await this.remove(name)
    await this.#stage.close()
  }

  /** Counts a failure that reached the process itself against the plugin that it comes from. One that is not live is passed over. */
  blame(plugin: string, what: string, error: unknown): void {
    this.#stage.live.get(plugin)?.activity.fail(what, error)
  }

  /** All plugins with their state: the live ones in their order, then the failed and the disabled. */
  list(): PluginState[] {
    const live = [...this.#stage.live.values()].map(version => {
      const { activity, origin } = version
      const { count = 0, ms = null, at = null } = this.#swaps.get(version.name) ?? {}
      const error = this.#seen.get(origin)?.error ?? (activity.suspended ? activity.lastFailure : null)
      return { ...version.state, error, swaps: count, swap_ms: ms, swapped_at: at }
    })
    return [...live, ...this.#absent()]
  }

  /** The same in brief, for who asks often. */
  outline(): Pick<PluginState, 'name' | 'version' | 'origin' | 'state'>[] {
    const live = [...this.#stage.live.values()].map(version => version.outline)
    return [...live, ...this.#absent()]
  }

  #absent(): PluginState[] {
    const liveFiles = new Set([...this.#stage.live.values()].map(({ origin }) => origin))
    const failed = [...this.#seen.values()]
      .filter(({ file, error }) => error !== undefined && !liveFiles.has(file))
      .map(({ file, stem, name, error }) => absent(name ?? stem, file, 'failed', error ?? null))
    const disabled = [...this.#disabledPlugins].map(([name, origin]) => absent(name, origin, 'disabled', null))
    return [...failed, ...disabled, ...this.#loader.unloaded]
  }

  /** What the files' plugins that are live were made of, with their own keys: to be tried out in a house apart from this one. */
  ofFiles(): PluginDefinition[] {
    return [...this.#stage.live.values()]
      .filter(({ origin }) => isFile(origin))
      .map(({ definition }) => ({ section: `plugins.config.${definition.name}`, ...definition }))
  }

  async #apply({ only, started }: { only?: string; started: boolean }): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const loaded: Loaded[] = []
    await this.#parts.config.refresh()
    const wants = (each: PluginFile) => this.#wants(each, only)
    const found = this.#parts.settings.enabled ? await this.#loader.settled(wants) : []
    for (const each of found.filter(wants)) {
      const result = await this.#load(each, only !== undefined)
      if (result && 'outcome' in result) outcomes.push(result)
      else if (result) loaded.push(result)
    }
    // A file that was renamed is not gone: its plugin is replaced by itself.
    const arriving = new Set(loaded.map(({ definition }) => definition.name))
    outcomes.push(...(await this.#clear(found, arriving, only)))
    for (const each of order(loaded)) outcomes.push(await this.#bring(each, started))
    // Unless it could not be.
    outcomes.push(...(await this.#clear(found, new Set(), only)))
    outcomes.push(...(await this.#settle(outcomes, started)))
    return outcomes
  }

  /** Whether a file is to be loaded: it changed, or it is the one that was asked for. */
  #wants(each: PluginFile, only?: string): boolean {
    if (this.#isDisabled(each.stem, each.file)) return false
    const seen = this.#seen.get(each.file)
    return only === undefined
      ? seen?.fingerprint !== each.fingerprint
      : [each.stem, seen?.name, each.file].includes(only)
  }

  /** Runs a file. @returns undefined for one that is switched off by its plugin's name */
  async #load(
    { file, stem, fingerprint, written_ms }: PluginFile,
    asked = false,
  ): Promise<Loaded | Outcome | undefined> {
    const before = this.#seen.get(file)?.name
    const seen: Seen = { file, stem, fingerprint, written_ms, ...(before ? { name: before } : {}) }
    this.#seen.set(file, seen)
    try {
      await this.#supervisor?.admit(seen, asked)
      const loaded = await this.#loader.load(seen)
      const { name, needs = [] } = loaded.definition
      Object.assign(seen, { name, needs })
      if (!this.#isDisabled(name, file)) return { ...loaded, origin: file }
      loaded.timers.close()
      return undefined
    } catch (error) {
      return this.#failed(before ?? stem, file, error)
    }
  }

  /** Removes the plugins whose files are gone. */
  async #clear(found: readonly PluginFile[], arriving: ReadonlySet<string>, only?: string): Promise<Outcome[]> {
    const here = new Set(found.map(({ file }) => file))
    for (const file of this.#seen.keys()) if (!here.has(file)) this.#seen.delete(file)
    const gone = [...this.#stage.live.values()].filter(({ name, origin }) => {
      const named = only === undefined || [name, origin, stemOf(origin)].includes(only)
      return isFile(origin) && !here.has(origin) && !arriving.has(name) && named
    })
    return this.#leave(new Set(gone))
  }

  /** Removes plugins together with those that need them, last first. */
  async #leave(gone: ReadonlySet<Version>): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const versions = [...this.#stage.live.values()].reverse()
    const staying = new Set(versions.filter(version => !gone.has(version)).map(({ name }) => name))
    const missing = ({ definition }: Version) => (definition.needs ?? []).filter(need => !staying.has(need))
    const orphan = (version: Version) => version.origin !== 'builtin' && missing(version).length > 0
    for (let before = -1; before !== staying.size; ) {
      before = staying.size
      for (const version of versions) if (orphan(version)) staying.delete(version.name)
    }
    for (const version of versions.filter(({ name }) => !staying.has(name))) {
      const { name, origin } = version
      await this.#stage.remove(version)
      if (gone.has(version)) outcomes.push(await this.#told({ plugin: name, origin, outcome: 'removed', error: null }))
      else outcomes.push(this.#failed(name, origin, needsError(missing(version), this.#stage.live.keys())))
    }
    return outcomes
  }

  /** Takes a loaded definition live, in the place of the version that is. */
  async #bring(loaded: Loaded, started: boolean): Promise<Outcome> {
    const { definition, origin } = loaded
    const { name } = definition
    const { clock } = this.#parts.ports
    const began = clock.monotonic()
    let old: Version | undefined
    try {
      old = this.#placeOf(loaded)
      const next = this.#declare(loaded, old)
      await this.#stage.replace(old, next, started)
      next.previous = old
    } catch (error) {
      loaded.timers?.close()
      return this.#failed(name, origin, error)
    }
    const seen = this.#seen.get(origin)
    delete seen?.error
    if (old) {
      old.previous = undefined
      const ms = Math.round(clock.monotonic() - began)
      this.#swaps.set(name, { count: (this.#swaps.get(name)?.count ?? 0) + 1, ms, at: clock.now().toISOString() })
    }
    return this.#told({ plugin: name, origin, outcome: old ? 'reloaded' : 'loaded', error: null })
  }

  /** The version that a file's plugin replaces: its own, also by another name, or one whose file is gone. @throws when the name is another's */
  #placeOf({ definition, origin }: Loaded): Version | undefined {
    const fromHere = [...this.#stage.live.values()].find(version => version.origin === origin)
    const old = this.#stage.live.get(definition.name) ?? fromHere
    if (old && old !== fromHere && (!isFile(old.origin) || this.#seen.has(old.origin))) throw taken(old)
    return old
  }

  /** Plugins whose needs went leave too; those that waited for what came or went are brought. */
  async #settle(before: readonly Outcome[], started: boolean): Promise<Outcome[]> {
    const outcomes = await this.#leave(new Set())
    for (const seen of this.#seen.values()) {
      if (!(await seen.waits?.([...before, ...outcomes])) || this.#hindered(seen)) continue
      const result = await this.#load(seen)
      if (result) outcomes.push('outcome' in result ? result : await this.#bring(result, started))
    }
    // What came or went may be what others wait for.
    return outcomes.length > 0 ? [...outcomes, ...(await this.#settle(outcomes, started))] : outcomes
  }

  #declare(loaded: Loaded, old?: Version): Version {
    const hindered = loaded.origin === 'builtin' ? undefined : this.#hindered(loaded.definition)
    if (hindered) throw hindered
    const { settings, modules: _, ...parts } = this.#parts
    const { max_failures } = settings
    const failed: VersionParts['failed'] = (version, what, error, suspended) =>
      this.#codeFailed(version, `${what}: ${sentenceOf(error)}`, suspended)
    const heir = (name: string): Activity | undefined => this.#stage.live.get(name)?.activity
    return new Version(loaded, { ...parts, max_failures, failed, heir, watch: this.#watch }, old?.handOver())
  }

  /** Why a plugin has to wait for others, by what is live and what the files say as they are now. */
  #hindered({ name = '', needs = [] }: { name?: string; needs?: readonly string[] }): NeedsError | undefined {
    const seen = new Map([...this.#seen.values()].map(each => [each.name, each.needs]))
    const found = circle(name, needs, need => seen.get(need) ?? this.#stage.live.get(need)?.definition.needs ?? [])
    const missing = needs.filter(need => !this.#stage.live.has(need))
    return found ?? (missing.length > 0 ? needsError(missing, this.#stage.live.keys()) : undefined)
  }

  /** A plugin's code failed. When it does so too often, it gives way to the version that it replaced and that did better, or is suspended. */
  #codeFailed(version: Version, problem: string, suspended: boolean): void {
    const { previous, activity } = version
    if (this.#stage.live.get(version.name) !== version) return
    const young = this.#parts.ports.clock.monotonic() - version.since < PROBATION_MS
    const worse = previous !== undefined && activity.failureRate > 2 * previous.activity.failureRate
    if (previous && young && worse && (suspended || activity.ailing)) {
      version.previous = undefined
      this.#applying = this.#applying.then(() => this.#rollBack(version, previous, problem)).catch(() => {})
    } else if (suspended) {
      this.#parts.log.error(
        { plugin: version.name },
        `is suspended: its code failed several times in a row (${problem})`,
      )
    }
  }

  async #rollBack(version: Version, previous: Version, problem: string): Promise<void> {
    if (this.#stage.live.get(version.name) !== version) return
    const { name, origin } = version
    await this.#stage.replace(version, previous, true)
    const error = `The newest version failed and was taken back: ${problem}`
    this.#parts.log.error({ plugin: name }, `fails since it was replaced; the version before is back: ${problem}`)
    const seen = this.#seen.get(origin)
    if (seen) seen.error = error
    await this.#told({ plugin: name, origin, outcome: 'rolled_back', error })
  }

  #failed(plugin: string, origin: string, cause: unknown): Outcome {
    const failed = failureOf(plugin, origin, cause)
    this.#parts.log.error({ plugin, code: failed.code }, failed.message)
    const seen = this.#seen.get(origin)
    if (seen) {
      seen.error = failed.message
      seen.waits = waitsFor(cause, origin, this.#parts)
    }
    const outcome: Outcome = { plugin, origin, outcome: 'failed', error: failed.message }
    void this.#told(outcome)
    return outcome
  }

  async #told(outcome: Outcome): Promise<Outcome> {
    const { plugin, origin } = outcome
    if (outcome.outcome !== 'failed') this.#parts.log.info({ plugin }, `${outcome.outcome} (${origin})`)
    await this.#parts.hooks.emit('plugin_reloaded', { plugin, outcome: outcome.outcome })
    return outcome
  }

  #isDisabled(name: string, origin: string): boolean {
    if (!this.#parts.settings.disabled.includes(name)) return false
    this.#disabledPlugins.set(name, origin)
    return true
  }
}
