import { z } from 'zod'
import { sentenceOf } from './errors.ts'
import { checkDefinition, Loader, type PluginFile, whereOf } from './loader.ts'
import { order, PluginError, unmet } from './order.ts'
import type { PluginDefinition } from './plugin.ts'
import { absent, type Outcome, type PluginState } from './state.ts'
import { type Loaded, Version, type VersionParts } from './version.ts'

/** The kernel's part of the section `plugins`. */
export const PluginsConfig = z.object({
  enabled: z.boolean().default(true).describe('Whether plugin files are loaded at all'),
  allowlist: z.array(z.string()).default([]).describe('File names or stems that may be loaded; empty allows all'),
  disabled: z.array(z.string()).default([]).describe('Plugins, builtins too, that are switched off by name'),
})
export type PluginsConfig = z.infer<typeof PluginsConfig>

/** How long a replaced version may go on with what it is at, in milliseconds. */
const DRAIN_MS = 30_000
/** A version that fails so soon after it replaced another gives way to it again, in milliseconds. */
const PROBATION_MS = 300_000

export interface HostParts extends Omit<VersionParts, 'failed' | 'watch'> {
  settings: PluginsConfig
  /** Modules that plugin files import by name: the package's front door as `svc`. */
  modules: () => Promise<Record<string, unknown>>
}

/** What was last seen of a plugin file. */
interface Seen extends PluginFile {
  /** The plugin's name, once the file could be loaded. */
  name?: string
  error?: string
  /** It needs a plugin that was not live: looked at again when one comes. */
  unmet?: boolean
}

/** Loads plugins, orders them by their needs, makes them live, replaces them and undoes them. */
export class Host {
  readonly #parts: HostParts
  readonly #loader: Loader
  readonly #live = new Map<string, Version>()
  readonly #seen = new Map<string, Seen>()
  readonly #disabledPlugins = new Map<string, string>()
  readonly #swaps = new Map<string, { count: number; ms: number }>()
  readonly #stop = new AbortController()
  #applying: Promise<unknown> = Promise.resolve()
  /** Told which plugin's code runs, for whoever watches for endless loops. */
  watch: ((plugin: string, what: string | undefined) => void) | undefined

  constructor(parts: HostParts) {
    this.#parts = parts
    const { ports, project, log, modules, settings } = parts
    this.#loader = new Loader({ ports, project, log, modules, allowlist: () => settings.allowlist })
  }

  /** Brings up the builtins, then the files' plugins. A builtin that fails fails the start; a file's is logged and left out. */
  async boot(builtins: readonly PluginDefinition[]): Promise<void> {
    const wanted = builtins.filter(({ name }) => !this.#isDisabled(name, 'builtin'))
    const { ordered, circles } = order(wanted.map(definition => ({ definition, origin: 'builtin', load_ms: 0 })))
    for (const [{ definition }, circle] of circles) throw unmet(definition.name, circle)
    const versions = ordered.map(each => this.#declare(each))
    // Together, because builtins may name each other's points whichever comes first.
    for (const rank of [0, 1] as const) for (const version of versions) version.show(rank)
    for (const version of versions) this.#live.set(version.name, version)
    await this.#apply({ started: false })
    this.#parts.log.info({}, `${this.#live.size} plugins are live`)
  }

  /** Starts the resources of the live plugins, in their order. */
  async start(): Promise<void> {
    for (const version of this.#live.values()) {
      try {
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
   * @param only a plugin's name, or its file's: loaded again also when it is unchanged
   */
  apply(only?: string): Promise<Outcome[]> {
    const applied = this.#applying.then(() => this.#apply({ started: true, ...(only === undefined ? {} : { only }) }))
    this.#applying = applied.catch(() => {})
    return applied
  }

  /** The plugin files that are not live as they stand on disk, by how people call them. */
  async changed(): Promise<string[]> {
    const found = this.#parts.settings.enabled ? await this.#loader.find() : []
    const changed = found.filter(each => this.#seen.get(each.file)?.fingerprint !== each.fingerprint)
    const gone = [...this.#seen.values()].filter(each => !found.some(other => other.file === each.file))
    return [...changed, ...gone].map(each => each.stem)
  }

  /** Brings up one more plugin while the process runs. @throws what its setup throws, or a resource on starting; nothing of it remains then */
  async add(definition: PluginDefinition, origin = 'code'): Promise<void> {
    const version = this.#declare({ definition: checkDefinition(definition), origin, load_ms: 0 })
    if (this.#live.has(version.name)) throw taken(this.#live.get(version.name))
    await this.#replace(undefined, version, true)
  }

  /** Undoes one plugin. What its undoings throw is logged; a name that is not live is passed over. */
  async remove(name: string): Promise<void> {
    const version = this.#live.get(name)
    if (!version) return
    this.#live.delete(name)
    // A builtin's resources may need what it registered to end well; a file's plugin is out of reach first.
    if (version.origin === 'builtin') await version.stop()
    version.hide()
    version.activity.dispose()
    await version.stop()
  }

  /** Undoes all plugins, last first. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#applying
    for (const name of [...this.#live.keys()].reverse()) await this.remove(name)
  }

  /** Counts a failure that reached the process itself, when it comes from a plugin's file. @returns whether it does */
  blame(what: string, error: unknown): boolean {
    const stack = error instanceof Error ? (error.stack ?? '') : ''
    const culprit = [...this.#live.values()].find(({ origin }) => isFile(origin) && stack.includes(origin))
    culprit?.activity.fail(what, error)
    return culprit !== undefined
  }

  /** All plugins with their state: the live ones in their order, then the failed and the disabled. */
  list(): PluginState[] {
    const live = [...this.#live.values()].map(version => {
      const { definition, origin, labels, load_ms, activity } = version
      const swap = this.#swaps.get(version.name)
      return {
        name: version.name,
        description: definition.description ?? '',
        version: definition.version ?? '',
        origin,
        state: activity.suspended ? ('suspended' as const) : ('live' as const),
        registered: labels,
        error: this.#seen.get(origin)?.error ?? (activity.suspended ? activity.lastFailure : null),
        ...{ calls: activity.calls, failures: activity.failures, load_ms },
        ...{ swaps: swap?.count ?? 0, swap_ms: swap?.ms ?? null },
      }
    })
    const liveFiles = new Set(live.map(({ origin }) => origin))
    const failed = [...this.#seen.values()]
      .filter(({ file, error }) => error !== undefined && !liveFiles.has(file))
      .map(({ file, stem, name, error }) => absent(name ?? stem, file, 'failed', error ?? null))
    const disabled = [...this.#disabledPlugins].map(([name, origin]) => absent(name, origin, 'disabled', null))
    return [...live, ...failed, ...disabled]
  }

  async #apply({ only, started }: { only?: string; started: boolean }): Promise<Outcome[]> {
    const found = this.#parts.settings.enabled ? await this.#loader.find() : []
    const outcomes: Outcome[] = []
    const here = new Set(found.map(({ file }) => file))
    const gone = [...this.#seen.values()].filter(({ file }) => !here.has(file))
    const loaded = new Map<Loaded, PluginFile>()
    for (const each of found) {
      const seen = this.#seen.get(each.file)
      const named = only !== undefined && [each.stem, seen?.name, each.file].includes(only)
      if (seen?.fingerprint === each.fingerprint && !named) continue
      if (this.#isDisabled(each.stem, each.file)) continue
      try {
        const { definition, load_ms } = await this.#loader.load(each)
        this.#seen.set(each.file, { ...each, name: definition.name })
        if (!this.#isDisabled(definition.name, each.file)) loaded.set({ definition, load_ms, origin: each.file }, each)
      } catch (error) {
        this.#seen.set(each.file, { ...each, ...(seen?.name ? { name: seen.name } : {}) })
        outcomes.push(this.#failed(seen?.name ?? each.stem, each.file, error))
      }
    }
    const arriving = new Set([...loaded.keys()].map(({ definition }) => definition.name))
    for (const { file, name } of gone) {
      this.#seen.delete(file)
      // A file that was renamed is not gone: its plugin is replaced by itself.
      if (name === undefined || arriving.has(name) || this.#live.get(name)?.origin !== file) continue
      await this.remove(name)
      outcomes.push(await this.#told({ plugin: name, origin: file, outcome: 'removed', error: null }))
    }
    const { ordered, circles } = order([...loaded.keys()])
    for (const [{ definition, origin }, circle] of circles) {
      outcomes.push(this.#failed(definition.name, origin, new Error(circle)))
    }
    for (const each of ordered) outcomes.push(await this.#bring(each, started))
    outcomes.push(...(await this.#settleNeeds(started)))
    return outcomes
  }

  /** Takes a loaded definition live, in the place of the version that is. */
  async #bring(loaded: Loaded, started: boolean): Promise<Outcome> {
    const { definition, origin } = loaded
    const { name } = definition
    const old = this.#live.get(name)
    const began = this.#parts.ports.clock.monotonic()
    try {
      // Only a file takes its own plugin's place, or that of one whose file is gone.
      if (old && old.origin !== origin && (!isFile(old.origin) || this.#seen.has(old.origin))) throw taken(old)
      const next = this.#declare(loaded, old)
      await this.#replace(old, next, started)
    } catch (error) {
      return this.#failed(name, origin, error)
    }
    const seen = this.#seen.get(origin)
    if (seen) {
      delete seen.error
      delete seen.unmet
    }
    if (old) {
      const ms = Math.round(this.#parts.ports.clock.monotonic() - began)
      this.#swaps.set(name, { count: (this.#swaps.get(name)?.count ?? 0) + 1, ms })
    }
    return this.#told({ plugin: name, origin, outcome: old ? 'reloaded' : 'loaded', error: null })
  }

  /**
   * The swap. What the old version registered goes and what the next one did comes without a turn of the event loop in
   * between; then resources change hands. What goes wrong brings the old one back as it was.
   */
  async #replace(old: Version | undefined, next: Version, started: boolean): Promise<void> {
    old?.hide()
    try {
      for (const rank of [0, 1] as const) next.show(rank)
    } catch (error) {
      next.hide()
      for (const rank of [0, 1] as const) old?.show(rank)
      throw error
    }
    this.#live.set(next.name, next)
    next.previous = old
    if (old) old.previous = undefined
    if (!started) return
    if (!old?.hasResources && !next.hasResources) {
      void this.#drain(old)
      return
    }
    let open = () => {}
    next.activity.hold(
      new Promise(resolve => {
        open = resolve
      }),
    )
    try {
      await this.#drain(old)
      await next.start(this.#stop.signal)
    } catch (error) {
      await next.stop()
      next.hide()
      this.#live.delete(next.name)
      if (old) await this.#bringBack(old)
      throw error
    } finally {
      open()
    }
  }

  /** Lets a replaced version end what it is at, for a while, and stops its resources. */
  async #drain(old: Version | undefined): Promise<void> {
    if (!old) return
    const calm = new AbortController()
    const idle = old.activity.idle().then(() => calm.abort())
    await Promise.race([idle, this.#parts.ports.clock.sleep(DRAIN_MS, calm.signal)])
    old.activity.dispose()
    await old.stop()
  }

  async #bringBack(old: Version): Promise<void> {
    old.activity.revive()
    for (const rank of [0, 1] as const) old.show(rank)
    this.#live.set(old.name, old)
    await old.start(this.#stop.signal)
  }

  /** Plugins whose needs went leave too; those that waited for what came are brought. */
  async #settleNeeds(started: boolean): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    for (const version of [...this.#live.values()].reverse()) {
      const missing = this.#missing(version.definition)
      if (version.origin === 'builtin' || missing.length === 0) continue
      await this.remove(version.name)
      outcomes.push(this.#failed(version.name, version.origin, needsError(missing)))
    }
    for (const seen of this.#seen.values()) {
      if (!seen.unmet) continue
      const { definition, load_ms } = await this.#loader.load(seen)
      if (this.#missing(definition).length > 0) continue
      outcomes.push(await this.#bring({ definition, load_ms, origin: seen.file }, started))
    }
    return outcomes
  }

  #declare(loaded: Loaded, old?: Version): Version {
    const missing = loaded.origin === 'builtin' ? [] : this.#missing(loaded.definition)
    if (missing.length > 0) throw needsError(missing)
    const { settings: _, modules: __, ...parts } = this.#parts
    const failed = (version: Version, what: string, error: unknown, suspended: boolean) =>
      this.#codeFailed(version, what, error, suspended)
    return new Version(loaded, { ...parts, failed, watch: this.watch }, old?.handOver())
  }

  #missing({ needs = [] }: PluginDefinition): string[] {
    return needs.filter(need => !this.#live.has(need))
  }

  /** A plugin's code failed. After some failures in a row it is suspended, or gives way to the version that it replaced. */
  #codeFailed(version: Version, what: string, error: unknown, suspended: boolean): void {
    const fields = { plugin: version.name }
    const problem = `${what}: ${sentenceOf(error)}`
    if (!suspended || this.#live.get(version.name) !== version) return
    const { previous } = version
    const young = this.#parts.ports.clock.monotonic() - version.since < PROBATION_MS
    if (!previous || !young) {
      this.#parts.log.error(fields, 'is suspended: its code failed several times in a row')
      return
    }
    this.#parts.log.error(fields, 'fails since it was replaced: the version before is back')
    this.#applying = this.#applying.then(() => this.#rollBack(version, previous, problem)).catch(() => {})
  }

  async #rollBack(version: Version, previous: Version, problem: string): Promise<void> {
    if (this.#live.get(version.name) !== version) return
    await this.remove(version.name)
    await this.#bringBack(previous)
    const error = `The newest version failed and was taken back: ${problem}`
    const seen = this.#seen.get(version.origin)
    if (seen) seen.error = error
    await this.#told({ plugin: version.name, origin: version.origin, outcome: 'rolled_back', error })
  }

  #failed(plugin: string, origin: string, cause: unknown): Outcome {
    const where = whereOf(cause, origin)
    const failed = new PluginError({ plugin, where, problem: sentenceOf(cause) }, { cause })
    this.#parts.log.error({ plugin, code: failed.code }, failed.message)
    const seen = this.#seen.get(origin)
    if (seen) {
      seen.error = failed.message
      seen.unmet = cause instanceof NeedsError
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

function isFile(origin: string): boolean {
  return origin !== 'builtin' && origin !== 'code'
}

class NeedsError extends Error {}

function needsError(missing: readonly string[]): NeedsError {
  return new NeedsError(`needs ${missing.map(name => `"${name}"`).join(', ')}, which is not live`)
}

function taken(by: Version | undefined): Error {
  return new Error(`the name is taken by ${by?.origin}`)
}
