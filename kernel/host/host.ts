import { didYouMean } from '../did-you-mean.ts'
import type { SharedParts } from '../handle.ts'
import type { PluginDefinition } from '../plugin.ts'
import { type FoundPlugin, isOfProgram, type LoadedPlugin, type PluginSource, type PluginSupport } from '../source.ts'
import { describeCycle, NeedsError, needsError, order, RestartNeededError } from './order.ts'
import { type Found, idOf, type Seen, statesOf } from './seen.ts'
import { inactiveState, type Outcome, type PluginState } from './state.ts'
import { PluginSwapper } from './swapper.ts'
import { nameTakenError, Version } from './version.ts'

/** Orders plugins by their needs, activates, replaces and removes them. */
export class Host {
  readonly #kernel: SharedParts
  readonly #support: PluginSupport
  readonly #disabled: () => ReadonlyMap<string, string | null>
  readonly #swapper: PluginSwapper
  readonly #seen = new Map<string, Seen>()
  readonly #off = new Map<string, PluginState>()
  /** Newest version of each module by name, also while another plugin replaces it. */
  readonly #builtins = new Map<string, Version>()
  readonly #stop = new AbortController()
  #applying: Promise<unknown> = Promise.resolve()
  /** Whether resources of this process have been started. */
  #isStarted = false

  /** @param disabled disabled plugins by name: `null` if disabled directly, else the disabled plugin that they need */
  constructor(kernel: SharedParts, support: PluginSupport, disabled: () => ReadonlyMap<string, string | null>) {
    this.#kernel = kernel
    this.#support = support
    this.#disabled = disabled
    this.#swapper = new PluginSwapper(kernel, this.#stop.signal)
  }

  /** Live versions in order, by the name under which others need them. */
  get live(): ReadonlyMap<string, Version> {
    return this.#swapper.live
  }

  /**
   * Activates the modules, then the plugins of sources. A module that fails stops the start; another plugin that fails
   * is logged and left out.
   */
  async boot(source: PluginSource): Promise<void> {
    const loaded: LoadedPlugin[] = []
    for (const plugin of await source.find()) {
      const each = await this.#load({ plugin, source })
      if (each && 'definition' in each) loaded.push(each)
    }
    for (const each of order(loaded)) {
      const { name } = each.definition
      const unmet = this.#needsError(each.definition)
      if (unmet) throw this.#support.explain(name, each.origin, unmet)
      this.#swapper.live.set(name, this.#declare(each))
    }
    // In one loop, because modules may name each other's points in either order.
    for (const rank of [0, 1] as const) for (const version of this.live.values()) version.show(rank)
    await this.#apply()
    this.#kernel.log.info({}, `${this.live.size} plugins are live`)
  }

  /** Starts the resources of live plugins in order. */
  async start(): Promise<void> {
    this.#isStarted = true
    for (const version of this.live.values()) {
      try {
        const unmet = this.#needsError(version.definition)
        if (unmet) throw unmet
        await version.start(this.#stop.signal)
      } catch (error) {
        if (version.origin === 'builtin') throw error
        await this.remove(version.name)
        this.#failure(version.name, version.origin, error)
      }
    }
  }

  /**
   * Applies changes of the sources: loads new plugins, replaces changed ones and removes missing ones. A plugin that
   * fails to load or to start only gets an error; its old version stays. @param only name, stem or origin of the only
   * plugin to load; it is loaded again even if unchanged
   */
  apply(only?: string): Promise<Outcome[]> {
    return this.runExclusive(() => this.#apply(only))
  }

  /** Runs work after running changes of plugins, and delays later ones until it ends. */
  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#applying.then(work)
    this.#applying = done.catch(() => {})
    return done
  }

  /** Returns the labels of source plugins whose newest revision is not live. */
  async listChanged(): Promise<string[]> {
    const found = await this.#find()
    const here = new Set(found.map(({ plugin }) => plugin.origin))
    const gone = [...this.#seen.values()].filter(({ plugin }) => !here.has(plugin.origin))
    return [...found.filter(({ plugin }) => this.#wants(plugin)), ...gone].map(({ plugin }) => plugin.stem)
  }

  /** Applies changes of the sources as they are reported. @returns a function that stops it */
  follow(): () => Promise<void> {
    const undos = this.#support.sources.map(source => source.onChange(() => this.apply()))
    return async () => void (await Promise.all(undos.map(undo => undo())))
  }

  /**
   * Shows a plugin and hides it again in one turn of the event loop, without starting its resources. @param look called
   * with the version while it is shown @throws the error of the plugin
   */
  preview<T>(loaded: LoadedPlugin, look: (version: Version) => T): T {
    const old = this.#placeOf(loaded)
    const next = this.#declare(loaded, old)
    old?.hide()
    try {
      next.show()
      return look(next)
    } finally {
      next.hide()
      old?.show()
    }
  }

  /** Adds a plugin while the process runs. @throws errors of its setup or of a resource; then nothing of it remains */
  async add(definition: PluginDefinition, origin = 'code'): Promise<void> {
    try {
      const loaded = { definition: this.#support.checkDefinition(definition), origin, load_ms: 0 }
      const old = this.#placeOf(loaded)
      await this.#swapper.replace(old, this.#declare(loaded, old), true)
    } catch (cause) {
      throw isOfProgram(origin) ? cause : this.#support.explain(definition.name, origin, cause)
    }
  }

  /** Removes one plugin and ends its running calls. Errors are logged; an unknown name is ignored. */
  async remove(name: string): Promise<void> {
    const version = [...this.live.values()].find(each => each.name === name)
    if (version && !(await this.#restoreModule(version))) await this.#swapper.end(version)
  }

  /** Removes all plugins, last first. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#applying
    for (const version of [...this.live.values()].reverse()) await this.#swapper.end(version)
    await this.#swapper.close()
  }

  /** Returns all plugins with their state: the live ones in order, then failed, disabled and unloaded ones. */
  list(): PluginState[] {
    const unloaded = this.#support.sources.flatMap(source => source.unloaded)
    return [...statesOf([...this.live.values()], this.#seen, this.#builtins), ...this.#off.values(), ...unloaded]
  }

  async #find(concerns?: (each: FoundPlugin) => boolean): Promise<Found[]> {
    const all = this.#support.sources.map(async source =>
      (await source.find(concerns)).map(plugin => ({ plugin, source })),
    )
    return (await Promise.all(all)).flat()
  }

  async #apply(only?: string): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const loaded: LoadedPlugin[] = []
    await this.#kernel.config.refresh()
    const wants = (each: FoundPlugin) => this.#wants(each, only)
    const found = await this.#find(wants)
    for (const each of found.filter(({ plugin }) => wants(plugin))) {
      const result = await this.#load(each, only !== undefined)
      if (result && 'outcome' in result) outcomes.push(result)
      else if (result) loaded.push(result)
    }
    // A plugin whose file moved is replaced by itself, not removed.
    const arriving = new Set(loaded.map(({ definition }) => definition.name))
    outcomes.push(...(await this.#removeMissing(found, arriving, only)))
    for (const each of order(loaded)) outcomes.push(await this.#activate(each))
    // A moved plugin that failed to load is removed after all.
    outcomes.push(...(await this.#removeMissing(found, new Set(), only)))
    return [...outcomes, ...(await this.#settle(outcomes))]
  }

  /** Returns whether to load a plugin: it has changed, or it was requested. */
  #wants({ origin, stem, revision }: FoundPlugin, only?: string): boolean {
    if (this.#isDisabled(stem, origin)) return false
    const seen = this.#seen.get(idOf(origin, stem))
    return only === undefined ? seen?.plugin.revision !== revision : [stem, seen?.name, origin].includes(only)
  }

  /** Loads a plugin. @returns undefined if its name is disabled */
  async #load(found: Found, isRequested = false): Promise<LoadedPlugin | Outcome | undefined> {
    const { plugin, source } = found
    const { origin, stem } = plugin
    const id = idOf(origin, stem)
    const before = this.#seen.get(id)?.name
    const seen: Seen = { plugin, source, ...(before ? { name: before } : {}) }
    this.#seen.set(id, seen)
    try {
      const loaded = await source.load(plugin, isRequested)
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
  async #removeMissing(found: readonly Found[], arriving: ReadonlySet<string>, only?: string): Promise<Outcome[]> {
    const here = new Set(found.map(({ plugin }) => plugin.origin))
    for (const [id, { plugin }] of this.#seen) if (!here.has(plugin.origin)) this.#seen.delete(id)
    const gone = [...this.live.values()].filter(version => {
      const { name, origin, stem, place } = version
      const named = only === undefined || [name, origin, stem].includes(only)
      return !isOfProgram(origin) && !here.has(origin) && !arriving.has(name) && named && !this.#needsRestart(place)
    })
    return this.#removeAll(new Set(gone))
  }

  /** Removes plugins and those that need them, last first. */
  async #removeAll(gone: ReadonlySet<Version>): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const versions = [...this.live.values()].reverse()
    const leaving = new Set(gone)
    const places = () =>
      new Set(versions.filter(each => !leaving.has(each) || this.#moduleBehind(each)).map(({ place }) => place))
    let staying = places()
    const missing = ({ definition }: Version) => (definition.needs ?? []).filter(need => !staying.has(need))
    const orphan = (version: Version) => version.origin !== 'builtin' && missing(version).length > 0
    for (let before = -1; before !== leaving.size; staying = places()) {
      before = leaving.size
      for (const version of versions) if (orphan(version)) leaving.add(version)
    }
    for (const version of versions.filter(each => leaving.has(each))) {
      const { name, origin } = version
      if (!(await this.#restoreModule(version))) await this.#swapper.remove(version)
      if (gone.has(version))
        outcomes.push(await this.#report({ plugin: name, origin, outcome: 'removed', error: null }))
      else outcomes.push(this.#failure(name, origin, needsError(missing(version), this.live.keys())))
    }
    return outcomes
  }

  /** Activates a loaded definition in place of the version that it replaces. */
  async #activate(loaded: LoadedPlugin): Promise<Outcome> {
    const { definition, origin } = loaded
    const { name, replaces } = definition
    const place = replaces ?? name
    const { clock } = this.#kernel.ports
    const began = clock.monotonic()
    const module = origin === 'builtin' ? this.#builtins.get(name) : undefined
    let [old, next]: (Version | undefined)[] = []
    try {
      // Another plugin replaces the module at present, or an edit was reverted.
      if (module && !module.isShown) this.#declare(loaded)
      if (module && (!module.isShown || module.definition === definition))
        return await this.#report({ plugin: name, origin, outcome: 'reloaded', error: null })
      const isMoved = (each: Version) =>
        each.origin === origin && each.place !== place && (replaces ?? each.definition.replaces) !== undefined
      const moved = module ? undefined : [...this.live.values()].find(isMoved)
      if (moved && !(await this.#restoreModule(moved))) await this.#swapper.remove(moved)
      old = this.#placeOf(loaded)
      next = this.#declare(loaded, old)
      await this.#swapper.replace(old, next, this.#isStarted)
      if (old?.origin !== 'builtin') next.previous = old
    } catch (error) {
      if (module) this.#builtins.set(name, module)
      loaded.remains?.close()
      return this.#failure(name, origin, error)
    }
    if (old) {
      old.previous = undefined
      const [swap_ms, swapped_at] = [Math.round(clock.monotonic() - began), clock.now().toISOString()]
      next.swapped = { swaps: old.swapped.swaps + 1, swap_ms, swapped_at }
    }
    return this.#report({ plugin: name, origin, outcome: old ? 'reloaded' : 'loaded', error: null })
  }

  /**
   * Returns the version that a plugin replaces: its own, also under another name; the module named in `replaces`; or
   * one that its source no longer has. @throws if another plugin has that place
   */
  #placeOf({ definition: { name, replaces }, origin }: LoadedPlugin): Version | undefined {
    const id = origin === 'code' ? undefined : idOf(origin, name)
    const own = [...this.live.values()].find(version => idOf(version.origin, version.name) === id)
    const old = this.live.get(replaces ?? name) ?? own
    if (!old) return undefined
    const isOwn = old === own || (replaces !== undefined && old.origin === 'builtin')
    if (!isOwn && (isOfProgram(old.origin) || this.#seen.has(old.origin))) throw nameTakenError(old)
    if (this.#needsRestart(old.place))
      throw new RestartNeededError(`"${old.place}" can be replaced only at a start; restart with: svc restart`)
    return old
  }

  /** Returns the module that returns when this version is removed. */
  #moduleBehind({ definition: { replaces } }: LoadedPlugin): Version | undefined {
    return replaces === undefined ? undefined : this.#builtins.get(replaces)
  }

  /** Restores the module that a version replaced. @returns whether there is one */
  async #restoreModule(version: Version): Promise<boolean> {
    const module = this.#moduleBehind(version)
    if (module) await this.#swapper.replace(version, this.#declare(module, version), this.#isStarted)
    return module !== undefined
  }

  #needsRestart(place: string): boolean {
    return this.#isStarted && this.#builtins.get(place)?.definition.fixed === true
  }

  /** Removes plugins whose needs are gone, and loads those that waited for what changed. */
  async #settle(before: readonly Outcome[]): Promise<Outcome[]> {
    const outcomes = await this.#removeAll(new Set())
    for (const seen of this.#seen.values()) {
      if (!(await seen.retry?.([...before, ...outcomes])) || this.#needsError(seen)) continue
      const result = await this.#load(seen)
      if (result) outcomes.push('outcome' in result ? result : await this.#activate(result))
    }
    // Each change may be what another plugin waits for.
    return outcomes.length > 0 ? [...outcomes, ...(await this.#settle(outcomes))] : outcomes
  }

  #declare(loaded: LoadedPlugin, old?: Version): Version {
    const { replaces } = loaded.definition
    const unmet = this.#needsError(loaded.definition)
    if (unmet) throw unmet
    const replaced = this.#moduleBehind(loaded)
    if (replaces !== undefined && !replaced)
      throw new TypeError(`replaces an unknown module; ${didYouMean(replaces, [...this.#builtins.keys()])}`)
    const interceptor = this.#support.intercept(loaded)
    const version = new Version(loaded, this.#kernel, interceptor, { state: old?.handOver(), replaced })
    if (loaded.origin === 'builtin') this.#builtins.set(version.name, version)
    return version
  }

  /** Returns why a plugin has to wait for others, by what is live and what was last loaded. */
  #needsError({ name = '', needs = [] }: { name?: string; needs?: readonly string[] }): NeedsError | undefined {
    const seen = new Map([...this.#seen.values()].map(each => [each.name, each.needs]))
    const found = describeCycle(name, needs, need => seen.get(need) ?? this.live.get(need)?.definition.needs ?? [])
    const missing = needs.filter(need => !this.live.has(need))
    return found ?? (missing.length > 0 ? needsError(missing, this.live.keys()) : undefined)
  }

  /** Restores the version that this one replaced, once running changes are applied. @param problem the reason */
  rollBack(version: Version, problem: string): void {
    const { previous, name, origin } = version
    version.previous = undefined
    void this.runExclusive(async () => {
      if (!previous || this.live.get(version.place) !== version) return
      await this.#swapper.replace(version, previous, true)
      this.#kernel.log.error({ plugin: name }, `the new version failed; the previous one was restored: ${problem}`)
      const error = `The newest version failed, and the previous version was restored: ${problem}`
      Object.assign(this.#seen.get(idOf(origin, name)) ?? {}, { error })
      await this.#report({ plugin: name, origin, outcome: 'rolled_back', error })
    }).catch(() => {})
  }

  #failure(plugin: string, origin: string, cause: unknown): Outcome {
    const failed = this.#support.explain(plugin, origin, cause)
    this.#kernel.log.error({ plugin, code: failed.code }, failed.message)
    const seen = this.#seen.get(idOf(origin, plugin))
    if (seen) {
      seen.error = failed.message
      seen.retry = cause instanceof NeedsError ? () => true : seen.source.retryAfter(cause, seen.plugin)
    }
    const outcome: Outcome = { plugin, origin, outcome: 'failed', error: failed.message }
    void this.#report(outcome)
    return outcome
  }

  async #report(outcome: Outcome): Promise<Outcome> {
    const { plugin, origin, error } = outcome
    if (error === null) delete this.#seen.get(idOf(origin, plugin))?.error
    // At a start, a plugin that replaces a module is loaded for the first time.
    const done = outcome.outcome === 'reloaded' && !this.#isStarted ? 'loaded' : outcome.outcome
    if (done !== 'failed') this.#kernel.log.info({ plugin }, `${done} (${origin})`)
    await this.#kernel.hooks.emit('plugin_reloaded', { plugin, outcome: outcome.outcome })
    return outcome
  }

  #isDisabled(name: string, origin: string): boolean {
    const need = this.#disabled().get(name)
    if (need !== undefined)
      this.#off.set(name, inactiveState(name, origin, 'disabled', need && `needs "${need}", which is disabled`))
    return need !== undefined
  }
}
