import { basename, extname, join } from 'node:path'
import { z } from 'zod'
import { defineError, SvcError, sentenceOf } from './errors.ts'
import { type HandleParts, type PluginDefinition, PluginHandle, type Role } from './plugin.ts'
import type { Ports } from './ports.ts'
import { within } from './ports.ts'
import { Scope } from './scope.ts'

/** The kernel's part of the section `plugins`. */
export const PluginsConfig = z.object({
  enabled: z.boolean().default(true).describe('Whether plugin files are loaded at all'),
  allowlist: z.array(z.string()).default([]).describe('File names or stems that may be loaded; empty allows all'),
  disabled: z.array(z.string()).default([]).describe('Plugins, builtins too, that are switched off by name'),
})
export type PluginsConfig = z.infer<typeof PluginsConfig>

/** How long a file may take to load, and each of its resources to start, in milliseconds. */
const LOAD_LIMIT_MS = 5_000

export const PluginError = defineError({
  code: 'plugin_error',
  status: 409,
  title: 'Plugin error',
  sentence: (p: { plugin: string; where: string; problem: string }) =>
    `Plugin "${p.plugin}" (${p.where}): ${p.problem}`,
})

export interface PluginState {
  name: string
  description: string
  version: string
  /** `builtin`, or the file that it was loaded from. */
  origin: string
  state: 'live' | 'failed' | 'disabled'
  /** What it registered: the labels of its scope. */
  registered: string[]
  error: string | null
  load_ms: number
}

interface Loaded {
  definition: PluginDefinition
  origin: string
  load_ms: number
}

interface Live extends Loaded {
  scope: Scope
  handle: PluginHandle
}

export interface HostParts extends Omit<HandleParts, 'scope' | 'builtin'> {
  settings: PluginsConfig
  roles: ReadonlySet<Role>
  /** Modules that plugin files import by name: the package's front door as `svc`. */
  modules: () => Promise<Record<string, unknown>>
  ports: Ports
}

/** Loads plugins, orders them by their needs, makes them live, and undoes them. */
export class Host {
  readonly #parts: HostParts
  readonly #live = new Map<string, Live>()
  readonly #others = new Map<string, PluginState>()
  readonly #stop = new AbortController()
  #jiti: Promise<{ import(file: string): Promise<unknown> }> | undefined

  constructor(parts: HostParts) {
    this.#parts = parts
  }

  /** Brings up the builtins, then the files' plugins. A builtin that fails fails the start; a file's is logged and left out. */
  async boot(builtins: readonly PluginDefinition[]): Promise<void> {
    const { settings, log } = this.#parts
    const wanted = builtins.filter(({ name }) => !this.#disabled(name, 'builtin'))
    const loaded = wanted.map(definition => ({ definition, origin: 'builtin', load_ms: 0 }))
    const { ordered, circles } = order(loaded)
    for (const [{ definition }, circle] of circles) throw unmet(definition.name, circle)
    this.#activate(ordered.map(each => this.#declare(each)))
    if (!settings.enabled) return
    const files = order(await this.#loadFiles())
    for (const [{ definition, origin }, circle] of files.circles) {
      await this.#fail(definition.name, origin, new Error(circle))
    }
    for (const each of files.ordered) {
      try {
        this.#activate([this.#declare(each)])
      } catch (error) {
        await this.#fail(each.definition.name, each.origin, error)
      }
    }
    log.info({}, `${this.#live.size} plugins are live`)
  }

  /** Starts the resources of the live plugins, in their order. */
  async start(): Promise<void> {
    for (const live of this.#live.values()) {
      try {
        await this.#startResources(live)
      } catch (error) {
        if (live.origin === 'builtin') throw error
        await this.#fail(live.definition.name, live.origin, error)
      }
    }
  }

  /** Brings up one more plugin while the process runs. @throws what its setup throws, or a resource on starting; nothing of it remains then */
  async add(definition: PluginDefinition, origin = 'code'): Promise<void> {
    const live = this.#declare({ definition: checkDefinition(definition), origin, load_ms: 0 })
    this.#activate([live])
    try {
      await this.#startResources(live)
    } catch (error) {
      await this.remove(definition.name)
      throw error
    }
  }

  /** Undoes one plugin. What its undoings throw is logged; a name that is not live is passed over. */
  async remove(name: string): Promise<void> {
    const live = this.#live.get(name)
    this.#live.delete(name)
    for (const failure of (await live?.scope.close()) ?? [])
      this.#parts.log.error({ plugin: name }, sentenceOf(failure))
  }

  /** Undoes all plugins, last first. */
  async close(): Promise<void> {
    this.#stop.abort()
    for (const name of [...this.#live.keys()].reverse()) await this.remove(name)
  }

  /** All plugins with their state: the live ones in their order, then the failed and the disabled. */
  list(): PluginState[] {
    const live = [...this.#live.values()].map(({ definition, origin, scope, load_ms }) => ({
      name: definition.name,
      description: definition.description ?? '',
      version: definition.version ?? '',
      origin,
      state: 'live' as const,
      registered: scope.labels,
      error: null,
      load_ms,
    }))
    return [...live, ...this.#others.values()]
  }

  #disabled(name: string, origin: string): boolean {
    if (!this.#parts.settings.disabled.includes(name)) return false
    this.#note(name, origin, 'disabled', null)
    return true
  }

  #note(name: string, origin: string, state: 'failed' | 'disabled', error: string | null): void {
    this.#others.set(origin === 'builtin' ? name : origin, {
      ...{ name, origin, state, error },
      ...{ description: '', version: '', registered: [], load_ms: 0 },
    })
  }

  /** Runs `setup`, which records the contributions; nothing is visible yet. */
  #declare(loaded: Loaded): Live {
    const { definition, origin } = loaded
    const builtin = origin === 'builtin'
    const missing = (definition.needs ?? []).filter(need => !this.#live.has(need) && !builtin)
    if (missing.length > 0) throw new Error(`needs ${missing.map(name => `"${name}"`).join(', ')}, which is not live`)
    const scope = new Scope(definition.name)
    const handle = new PluginHandle(definition.name, { ...this.#parts, scope, builtin })
    const section = definition.section ?? (builtin ? definition.name : `plugins.config.${definition.name}`)
    const config = definition.config ? handle.section(section, definition.config) : {}
    const returned: unknown = definition.setup(handle, config)
    if (returned instanceof Promise) {
      returned.catch(() => {})
      throw new TypeError(
        'its setup is async, but setup only declares; what waits goes into svc.start(async () => { … })',
      )
    }
    return { ...loaded, scope, handle }
  }

  #activate(plugins: readonly Live[]): void {
    for (const live of plugins) {
      const { name } = live.definition
      if (this.#live.has(name)) throw new Error(`the name is taken by ${this.#live.get(name)?.origin}`)
    }
    try {
      for (const rank of [0, 1] as const) for (const live of plugins) live.handle.activate(rank)
    } catch (error) {
      for (const live of [...plugins].reverse()) void live.scope.close()
      throw error
    }
    for (const live of plugins) this.#live.set(live.definition.name, live)
  }

  async #startResources({ definition, origin, handle, scope }: Live): Promise<void> {
    const { ports, roles } = this.#parts
    for (const resource of handle.resources) {
      if (!resource.in.some(role => roles.has(role))) continue
      const started = (async () => {
        const undo = await resource.start(this.#stop.signal)
        if (undo) scope.hold('resource', undo)
      })()
      // A builtin may take its time, as for a migration; a file that hangs must not keep the rest from starting.
      if (origin === 'builtin') await started
      else await within(ports.clock, LOAD_LIMIT_MS, `Starting "${definition.name}"`, started)
    }
  }

  async #fail(name: string, origin: string, error: unknown): Promise<void> {
    const failed = new PluginError(
      { plugin: name, where: whereOf(error, origin), problem: sentenceOf(error) },
      { cause: error },
    )
    this.#parts.log.error({ plugin: name, code: failed.code }, failed.message)
    // The name may be that of another plugin, which lives on.
    if (this.#live.get(name)?.origin === origin) await this.remove(name)
    this.#note(name, origin, 'failed', failed.message)
  }

  async #loadFiles(): Promise<Loaded[]> {
    const loaded: Loaded[] = []
    for (const folder of this.#parts.project.plugins) {
      for (const file of await this.#candidates(folder)) {
        const stem = stemOf(file)
        if (this.#disabled(stem, file)) continue
        try {
          const each = await this.#load(file)
          if (!this.#disabled(each.definition.name, file)) loaded.push(each)
        } catch (error) {
          await this.#fail(stem, file, error)
        }
      }
    }
    return loaded
  }

  /** A top-level `.ts`, `.js` or `.mjs` file, or a folder with `index.ts`, is one plugin. */
  async #candidates(folder: string): Promise<string[]> {
    const { ports, settings } = this.#parts
    const entries = await ports.files.readdir(folder, { withFileTypes: true }).catch(() => [])
    const found: string[] = []
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      if (/^[._#~]|~$|\.d\.ts$|\.test\.ts$/.test(entry.name)) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        const index = join(path, 'index.ts')
        if (
          await ports.files.access(index).then(
            () => true,
            () => false,
          )
        )
          found.push(index)
      } else if (['.ts', '.js', '.mjs'].includes(extname(entry.name))) found.push(path)
    }
    const { allowlist } = settings
    return found.filter(
      file => allowlist.length === 0 || allowlist.some(name => name === basename(file) || name === stemOf(file)),
    )
  }

  async #load(file: string): Promise<Loaded> {
    const { ports, log } = this.#parts
    const began = ports.clock.monotonic()
    this.#jiti ??= this.#createJiti()
    const jiti = await this.#jiti
    // Told before it runs: a file that ends the process must have been named.
    log.info({ plugin: stemOf(file) }, `runs ${file} for the first time in this process`)
    const module = await within(ports.clock, LOAD_LIMIT_MS, `Loading ${file}`, jiti.import(file))
    const definition = (module as { default?: unknown } | undefined)?.default
    return {
      definition: checkDefinition(definition),
      origin: file,
      load_ms: Math.round(ports.clock.monotonic() - began),
    }
  }

  async #createJiti() {
    const { createJiti } = await import('jiti')
    const { project, modules } = this.#parts
    const fsCache = join(project.svc, 'cache', 'jiti')
    // A module without a default export must not pass for one that has.
    const options = { moduleCache: false, interopDefault: false, fsCache }
    return createJiti(import.meta.url, { ...options, virtualModules: await modules() })
  }
}

function stemOf(file: string): string {
  const name = basename(file)
  return name === 'index.ts' ? basename(join(file, '..')) : name.slice(0, name.length - extname(name).length)
}

function checkDefinition(value: unknown): PluginDefinition {
  const right = `write: export default definePlugin({ name: 'my-plugin', setup(svc) { … } })`
  if (typeof value !== 'object' || value === null) throw new TypeError(`has no default export; ${right}`)
  const { name, setup } = value as Partial<PluginDefinition>
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) {
    throw new TypeError(
      `its name must be lower-case letters, digits and hyphens, not ${JSON.stringify(name)}; ${right}`,
    )
  }
  if (typeof setup !== 'function') throw new TypeError(`has no setup function; ${right}`)
  return value as PluginDefinition
}

/** The place in the plugin's own file that an error points at. */
function whereOf(error: unknown, origin: string): string {
  if (origin === 'builtin' || error instanceof SvcError) return origin
  const text = error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : ''
  const at = text.indexOf(`${origin}:`)
  const line = at < 0 ? undefined : /^:(\d+)/.exec(text.slice(at + origin.length))?.[1]
  return line ? `${origin}:${line}` : origin
}

interface Order {
  ordered: Loaded[]
  /** Those that need each other, with their circle in words. */
  circles: Map<Loaded, string>
}

/** Plugins after those they need, otherwise in the order given. @throws PluginError when a builtin needs what is not there */
function order(plugins: readonly Loaded[]): Order {
  const byName = new Map(plugins.map(each => [each.definition.name, each]))
  const ordered = new Set<Loaded>()
  const circles = new Map<Loaded, string>()
  const visit = (each: Loaded, path: readonly Loaded[]) => {
    if (ordered.has(each)) return
    if (path.includes(each)) {
      const circle = path.slice(path.indexOf(each))
      const names = [...circle, each].map(({ definition }) => definition.name).join(' → ')
      for (const member of circle) circles.set(member, `needs itself in a circle: ${names}`)
      return
    }
    for (const need of each.definition.needs ?? []) {
      const needed = byName.get(need)
      if (needed) visit(needed, [...path, each])
      else if (each.origin === 'builtin') {
        throw unmet(each.definition.name, `needs "${need}", which is switched off or missing`)
      }
    }
    ordered.add(each)
  }
  for (const each of plugins) visit(each, [])
  return { ordered: [...ordered].filter(each => !circles.has(each)), circles }
}

function unmet(plugin: string, problem: string) {
  return new PluginError({ plugin, where: 'builtin', problem })
}
