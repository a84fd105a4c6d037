import type { PluginDefinition } from '../plugin.ts'
import {
  type FoundPlugin,
  isOfProgram,
  type LoadedPlugin,
  type PluginSource,
  type PluginSupport,
  type Retry,
} from '../source.ts'
import { checkDefinition } from './definition.ts'
import { checkNeeds, circle, NeedsError, needsError, order } from './order.ts'
import { absent, type Outcome, type PluginState } from './state.ts'
import { PluginSwapper } from './swapper.ts'
import { nameTakenError, Version, type VersionParts } from './version.ts'

export interface HostParts extends VersionParts {
  support: PluginSupport
  /** Names of plugins that are switched off. */
  disabled: () => readonly string[]
}

/** A plugin with its source. */
interface Found {
  plugin: FoundPlugin
  source: PluginSource
}

/** What was last seen of a plugin of a source. */
interface Seen extends Found {
  /** The plugin's name and what it needs, once it could be loaded. */
  name?: string
  needs?: readonly string[]
  error?: string
  /** It is loaded again when this says so. */
  retry?: Retry | undefined
}

/** Orders plugins by their needs, makes them live, replaces them by newer versions and undoes them. */
export class Host {
  readonly #parts: HostParts
  readonly #swapper: PluginSwapper
  readonly #seen = new Map<string, Seen>()
  readonly #disabledPlugins = new Map<string, string>()
  readonly #swaps = new Map<string, { count: number; ms: number; at: string }>()
  readonly #stop = new AbortController()
  #applying: Promise<unknown> = Promise.resolve()

  constructor(parts: HostParts) {
    this.#parts = parts
    this.#swapper = new PluginSwapper({ clock: parts.ports.clock, log: parts.log, signal: this.#stop.signal })
  }

  /** The live versions by name, in their order. */
  get live(): ReadonlyMap<string, Version> {
    return this.#swapper.live
  }

  /** Brings up the builtins, then the plugins of sources. A builtin that fails fails the start; another one is logged and left out. */
  async boot(builtins: readonly PluginDefinition[]): Promise<void> {
    const wanted = builtins.filter(({ name }) => !this.#isDisabled(name, 'builtin'))
    checkNeeds(wanted)
    const ordered = order(wanted.map(definition => ({ definition, origin: 'builtin', load_ms: 0 })))
    const versions = ordered.map(each => this.#declare(each))
    // Together, because builtins may name each other's points whichever comes first.
    for (const rank of [0, 1] as const) for (const version of versions) version.show(rank)
    for (const version of versions) this.#swapper.live.set(version.name, version)
    await this.#apply({ started: false })
    this.#parts.log.info({}, `${this.live.size} plugins are live`)
  }

  /** Starts the resources of the live plugins, in their order. */
  async start(): Promise<void> {
    for (const version of this.live.values()) {
      try {
        const hindered = this.#needsError(version.definition)
        if (hindered) throw hindered
        await version.start(this.#stop.signal)
      } catch (error) {
        if (version.origin === 'builtin') throw error
        await this.remove(version.name)
        this.#failure(version.name, version.origin, error)
      }
    }
  }

  /**
   * Applies what changed in the sources: new plugins are loaded, changed ones replaced, removed ones undone. One that cannot
   * be loaded, or cannot take its place, changes nothing but its error.
   * @param only a plugin's name, stem or origin: that one alone, loaded again also when it is unchanged
   */
  apply(only?: string): Promise<Outcome[]> {
    return this.inTurn(() => this.#apply({ started: true, ...(only === undefined ? {} : { only }) }))
  }

  /** Runs work while no plugins are being applied. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#applying.then(work)
    this.#applying = done.catch(() => {})
    return done
  }

  /** Returns the plugins of sources that are not live as they are there, by how people call them. */
  async changed(): Promise<string[]> {
    const found = await this.#find()
    const changed = found.filter(({ plugin }) => this.#wants(plugin))
    const here = new Set(found.map(({ plugin }) => plugin.origin))
    const gone = [...this.#seen.values()].filter(({ plugin }) => !here.has(plugin.origin))
    return [...changed, ...gone].map(({ plugin }) => plugin.stem)
  }

  /** Has changes of the sources applied as they report them. @returns its end */
  follow(): () => Promise<void> {
    const undos = this.#parts.support.sources.map(source => source.changed(() => this.apply()))
    return async () => {
      await Promise.all(undos.map(undo => undo()))
    }
  }

  /**
   * Shows a plugin as it would be, without a turn of the event loop in between, and takes it back. Its resources are not
   * started.
   * @param look sees the version while it is shown
   * @throws what refuses it
   */
  preview<T>(loaded: LoadedPlugin, look: (version: Version) => T): T {
    const old = this.#placeOf(loaded)
    const next = this.#declare(loaded, old)
    old?.hide()
    try {
      for (const rank of [0, 1] as const) next.show(rank)
      return look(next)
    } finally {
      next.hide()
      for (const rank of [0, 1] as const) old?.show(rank)
    }
  }

  /** Brings up one more plugin while the process runs. @throws what its setup throws, or a resource on starting; nothing of it remains then */
  async add(definition: PluginDefinition, origin = 'code'): Promise<void> {
    try {
      const version = this.#declare({ definition: checkDefinition(definition), origin, load_ms: 0 })
      const other = this.live.get(version.name)
      if (other) throw nameTakenError(other)
      await this.#swapper.replace(undefined, version, true)
    } catch (cause) {
      throw isOfProgram(origin) ? cause : this.#parts.support.explain(definition.name, origin, cause)
    }
  }

  /** Undoes one plugin, with what it is at. What its undoings throw is logged; a name that is not live is passed over. */
  async remove(name: string): Promise<void> {
    const version = this.live.get(name)
    if (version) await this.#swapper.end(version)
  }

  /** Undoes all plugins, last first. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#applying
    for (const name of [...this.live.keys()].reverse()) await this.remove(name)
    await this.#swapper.close()
  }

  /** All plugins with their state: the live ones in their order, then the failed, the disabled and those not loaded. */
  list(): PluginState[] {
    const versions = [...this.live.values()]
    const live = versions.map(version => {
      const { state, origin } = version
      const { count = 0, ms = null, at = null } = this.#swaps.get(version.name) ?? {}
      const error = this.#seen.get(origin)?.error ?? (state.state === 'suspended' ? state.last_failure : null)
      return { ...state, error, swaps: count, swap_ms: ms, swapped_at: at }
    })
    const failed = [...this.#seen.values()]
      .filter(({ plugin, error }) => error !== undefined && !versions.some(({ origin }) => origin === plugin.origin))
      .map(({ plugin, name = plugin.stem, error = null }) => absent(name, plugin.origin, 'failed', error))
    const disabled = [...this.#disabledPlugins].map(([name, origin]) => absent(name, origin, 'disabled', null))
    return [...live, ...failed, ...disabled, ...this.#parts.support.sources.flatMap(({ unloaded }) => unloaded)]
  }

  async #find(concerns?: (each: FoundPlugin) => boolean): Promise<Found[]> {
    const all = this.#parts.support.sources.map(async source =>
      (await source.find(concerns)).map(plugin => ({ plugin, source })),
    )
    return (await Promise.all(all)).flat()
  }

  async #apply({ only, started }: { only?: string; started: boolean }): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const loaded: LoadedPlugin[] = []
    await this.#parts.config.refresh()
    const wants = (each: FoundPlugin) => this.#wants(each, only)
    const found = await this.#find(wants)
    for (const each of found.filter(({ plugin }) => wants(plugin))) {
      const result = await this.#load(each, only !== undefined)
      if (result && 'outcome' in result) outcomes.push(result)
      else if (result) loaded.push(result)
    }
    // One that moved is not gone: the plugin is replaced by itself.
    const arriving = new Set(loaded.map(({ definition }) => definition.name))
    outcomes.push(...(await this.#clear(found, arriving, only)))
    for (const each of order(loaded)) outcomes.push(await this.#bring(each, started))
    // Unless it could not be.
    outcomes.push(...(await this.#clear(found, new Set(), only)))
    outcomes.push(...(await this.#settle(outcomes, started)))
    return outcomes
  }

  /** Whether a plugin is to be loaded: it changed, or it is the one that was asked for. */
  #wants({ origin, stem, revision }: FoundPlugin, only?: string): boolean {
    if (this.#isDisabled(stem, origin)) return false
    const seen = this.#seen.get(origin)
    return only === undefined ? seen?.plugin.revision !== revision : [stem, seen?.name, origin].includes(only)
  }

  /** Loads a plugin. @returns undefined for one that is switched off by its name */
  async #load(found: Found, asked = false): Promise<LoadedPlugin | Outcome | undefined> {
    const { plugin, source } = found
    const { origin, stem } = plugin
    const before = this.#seen.get(origin)?.name
    const seen: Seen = { plugin, source, ...(before ? { name: before } : {}) }
    this.#seen.set(origin, seen)
    try {
      const loaded = await source.load(plugin, asked)
      const { name, needs = [] } = loaded.definition
      Object.assign(seen, { name, needs })
      if (!this.#isDisabled(name, origin)) return loaded
      loaded.remains?.close()
      return undefined
    } catch (error) {
      return this.#failure(before ?? stem, origin, error)
    }
  }

  /** Removes the plugins that their sources no longer have. */
  async #clear(found: readonly Found[], arriving: ReadonlySet<string>, only?: string): Promise<Outcome[]> {
    const here = new Set(found.map(({ plugin }) => plugin.origin))
    for (const origin of this.#seen.keys()) if (!here.has(origin)) this.#seen.delete(origin)
    const gone = [...this.live.values()].filter(({ name, origin, stem }) => {
      const named = only === undefined || [name, origin, stem].includes(only)
      return !isOfProgram(origin) && !here.has(origin) && !arriving.has(name) && named
    })
    return this.#leave(new Set(gone))
  }

  /** Removes plugins together with those that need them, last first. */
  async #leave(gone: ReadonlySet<Version>): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const versions = [...this.live.values()].reverse()
    const staying = new Set(versions.filter(version => !gone.has(version)).map(({ name }) => name))
    const missing = ({ definition }: Version) => (definition.needs ?? []).filter(need => !staying.has(need))
    const orphan = (version: Version) => version.origin !== 'builtin' && missing(version).length > 0
    for (let before = -1; before !== staying.size; ) {
      before = staying.size
      for (const version of versions) if (orphan(version)) staying.delete(version.name)
    }
    for (const version of versions.filter(({ name }) => !staying.has(name))) {
      const { name, origin } = version
      await this.#swapper.remove(version)
      if (gone.has(version))
        outcomes.push(await this.#report({ plugin: name, origin, outcome: 'removed', error: null }))
      else outcomes.push(this.#failure(name, origin, needsError(missing(version), this.live.keys())))
    }
    return outcomes
  }

  /** Takes a loaded definition live, in the place of the version that is. */
  async #bring(loaded: LoadedPlugin, started: boolean): Promise<Outcome> {
    const { definition, origin } = loaded
    const { name } = definition
    const { clock } = this.#parts.ports
    const began = clock.monotonic()
    let old: Version | undefined
    try {
      old = this.#placeOf(loaded)
      const next = this.#declare(loaded, old)
      await this.#swapper.replace(old, next, started)
      next.previous = old
    } catch (error) {
      loaded.remains?.close()
      return this.#failure(name, origin, error)
    }
    const seen = this.#seen.get(origin)
    delete seen?.error
    if (old) {
      old.previous = undefined
      const ms = Math.round(clock.monotonic() - began)
      this.#swaps.set(name, { count: (this.#swaps.get(name)?.count ?? 0) + 1, ms, at: clock.now().toISOString() })
    }
    return this.#report({ plugin: name, origin, outcome: old ? 'reloaded' : 'loaded', error: null })
  }

  /** The version that a plugin replaces: its own, also by another name, or one that its source no longer has. @throws when the name is another's */
  #placeOf({ definition, origin }: LoadedPlugin): Version | undefined {
    const fromHere = [...this.live.values()].find(version => version.origin === origin)
    const old = this.live.get(definition.name) ?? fromHere
    if (old && old !== fromHere && (isOfProgram(old.origin) || this.#seen.has(old.origin))) throw nameTakenError(old)
    return old
  }

  /** Plugins whose needs went leave too; those that waited for what came or went are brought. */
  async #settle(before: readonly Outcome[], started: boolean): Promise<Outcome[]> {
    const outcomes = await this.#leave(new Set())
    for (const seen of this.#seen.values()) {
      if (!(await seen.retry?.([...before, ...outcomes])) || this.#needsError(seen)) continue
      const result = await this.#load(seen)
      if (result) outcomes.push('outcome' in result ? result : await this.#bring(result, started))
    }
    // What came or went may be what others wait for.
    return outcomes.length > 0 ? [...outcomes, ...(await this.#settle(outcomes, started))] : outcomes
  }

  #declare(loaded: LoadedPlugin, old?: Version): Version {
    const hindered = loaded.origin === 'builtin' ? undefined : this.#needsError(loaded.definition)
    if (hindered) throw hindered
    return new Version(loaded, this.#parts, this.#parts.support.intercept(loaded), old?.handOver())
  }

  /** Why a plugin has to wait for others, by what is live and what was loaded last. */
  #needsError({ name = '', needs = [] }: { name?: string; needs?: readonly string[] }): NeedsError | undefined {
    const seen = new Map([...this.#seen.values()].map(each => [each.name, each.needs]))
    const found = circle(name, needs, need => seen.get(need) ?? this.live.get(need)?.definition.needs ?? [])
    const missing = needs.filter(need => !this.live.has(need))
    return found ?? (missing.length > 0 ? needsError(missing, this.live.keys()) : undefined)
  }

  /** Brings back the version that this one replaced, once no plugins are being applied. @param problem why */
  rollBack(version: Version, problem: string): void {
    const { previous, name, origin } = version
    version.previous = undefined
    void this.inTurn(async () => {
      if (!previous || this.live.get(name) !== version) return
      await this.#swapper.replace(version, previous, true)
      this.#parts.log.error({ plugin: name }, `fails since it was replaced; the version before is back: ${problem}`)
      const error = `The newest version failed and was taken back: ${problem}`
      const seen = this.#seen.get(origin)
      if (seen) seen.error = error
      await this.#report({ plugin: name, origin, outcome: 'rolled_back', error })
    }).catch(() => {})
  }

  #failure(plugin: string, origin: string, cause: unknown): Outcome {
    const failed = this.#parts.support.explain(plugin, origin, cause)
    this.#parts.log.error({ plugin, code: failed.code }, failed.message)
    const seen = this.#seen.get(origin)
    if (seen) {
      seen.error = failed.message
      seen.retry = cause instanceof NeedsError ? () => true : seen.source.retryAfter(cause, seen.plugin)
    }
    const outcome: Outcome = { plugin, origin, outcome: 'failed', error: failed.message }
    void this.#report(outcome)
    return outcome
  }

  async #report(outcome: Outcome): Promise<Outcome> {
    const { plugin, origin } = outcome
    if (outcome.outcome !== 'failed') this.#parts.log.info({ plugin }, `${outcome.outcome} (${origin})`)
    await this.#parts.hooks.emit('plugin_reloaded', { plugin, outcome: outcome.outcome })
    return outcome
  }

  #isDisabled(name: string, origin: string): boolean {
    if (!this.#parts.disabled().includes(name)) return false
    this.#disabledPlugins.set(name, origin)
    return true
  }
}
