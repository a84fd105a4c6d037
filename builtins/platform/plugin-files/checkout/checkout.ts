import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FoundPlugin, LoadedPlugin, Log, PluginSource, Ports, Project, Undo } from '#kernel'
import { Loader, waitUntilSettled } from '../loader.ts'
import { PluginWatch } from '../watch.ts'
import { isShared, PROGRAM, SourceHashes, type SourceModule, sharedNames, sourceModules } from './sources.ts'

/** Whether the program is the bundle in `dist/`, which must be rebuilt to include changes. */
const IS_BUILT = !import.meta.url.endsWith('.ts')
/** The folder of package.json. */
const ROOT = fileURLToPath(new URL(IS_BUILT ? '../' : '../../../../', import.meta.url))
/** How long a module may take to load, in milliseconds: some have a hundred files. */
const LOAD_LIMIT_MS = 60_000
/** Commands that put a change of shared files into effect. */
const REMEDY = IS_BUILT ? 'npm run build, then svc restart' : 'svc restart'

export interface CheckoutParts {
  ports: Ports
  project: Project
  log: Log
  /** The modules of the running program. */
  modules: PluginSource
}

/**
 * Modules of a checkout, for their developers. A module whose files differ from the running program is loaded from
 * them, like a plugin file. It uses the running program's contracts and libraries.
 */
export class CheckoutModules implements PluginSource {
  readonly unloaded = []
  readonly #parts: CheckoutParts
  readonly #loader: Loader
  readonly #hashes: SourceHashes
  readonly #watch: PluginWatch
  /** Hashes of the sources that the running program was made of. */
  #running: Promise<ReadonlyMap<string, string>> | undefined
  /** Index files of the modules that were last loaded from their sources. */
  readonly #files = new Map<string, string>()
  #announced = ''

  constructor(parts: CheckoutParts) {
    const { ports, project, log } = parts
    this.#parts = parts
    this.#hashes = new SourceHashes(ROOT, ports.files)
    this.#loader = new Loader({
      ports,
      log,
      project: { ...project, plugins: [join(ROOT, 'builtins')] },
      modules: () => this.#importable(),
      allowlist: () => [],
      limit_ms: LOAD_LIMIT_MS,
      // Modules are part of the program, so nothing hinders or watches them.
      blockedReason: async () => undefined,
      watch: () => {},
    })
    this.#watch = new PluginWatch({
      files: ports.files,
      clock: ports.clock,
      log,
      dev: true,
      folders: PROGRAM.map(folder => join(ROOT, folder)),
      findChanged: async () => [],
      heartbeat: () => 0,
    })
  }

  /** Returns the index file of a module that was loaded from its sources. */
  fileOf(module: string): string | undefined {
    return this.#files.get(module)
  }

  async find(concerns?: (plugin: FoundPlugin) => boolean): Promise<FoundPlugin[]> {
    const find = () => this.#find()
    return concerns ? waitUntilSettled(find, concerns, this.#parts.ports.clock) : find()
  }

  async load(found: FoundPlugin, isRequested: boolean): Promise<LoadedPlugin> {
    const { modules, ports } = this.#parts
    const changed = await this.#listChanged()
    const { file } = (await sourceModules(ROOT, ports.files)).find(({ name }) => name === found.stem) ?? {}
    const own = file === undefined ? [] : filesOf(file, changed)
    if (file === undefined || own.length === 0) {
      this.#files.delete(found.stem)
      return modules.load(found, isRequested)
    }
    this.#files.set(found.stem, file)
    const shared = own.filter(isShared)
    if (shared.length > 0)
      throw new Error(`${shared.join(', ')} changed, which the whole program uses; to apply the change: ${REMEDY}`)
    const look = await this.#loader.look(file)
    const loaded = await this.#loader.load(look)
    if (loaded.definition.name === found.stem) return { ...loaded, origin: 'builtin', stem: found.stem }
    loaded.remains?.close()
    throw new Error(
      `is now called "${loaded.definition.name}"; renaming a module needs a restart of the whole program: ${REMEDY}`,
    )
  }

  retryAfter(): undefined {}

  onChange(apply: () => Promise<unknown>): Undo {
    this.#watch.start(apply, true)
    return () => this.#watch.close()
  }

  tick(): void {}

  async #find() {
    const shipped = await this.#parts.modules.find()
    const [changed, sources] = await Promise.all([this.#listChanged(), sourceModules(ROOT, this.#parts.ports.files)])
    this.#announce(changed, sources)
    const found = shipped.map(async plugin => {
      const file = sources.find(({ name }) => name === plugin.stem)?.file
      if (file === undefined || filesOf(file, changed).length === 0) return { ...plugin, written_ms: 0 }
      const look = await this.#loader.look(file).catch(error => ({ revision: String(error), written_ms: 0 }))
      return { ...plugin, revision: look.revision, written_ms: look.written_ms }
    })
    return Promise.all(found)
  }

  /** Returns the sources that differ from the running program, relative to the checkout. */
  async #listChanged(): Promise<string[]> {
    const now = await this.#hashes.read()
    this.#running ??= this.#readBuilt(now)
    const running = await this.#running
    return [...new Set([...running.keys(), ...now.keys()])].filter(file => running.get(file) !== now.get(file))
  }

  /** Returns the source hashes of the build; without a build, those of the start. */
  async #readBuilt(now: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
    if (!IS_BUILT) return now
    const text = await this.#parts.ports.files.readFile(join(ROOT, 'dist', 'sources.json'), 'utf8')
    return new Map(Object.entries(JSON.parse(text) as Record<string, string>))
  }

  /** Warns of changed files that no module is loaded from, once for each set of them. */
  #announce(changed: readonly string[], sources: readonly SourceModule[]): void {
    const ofModules = new Set(sources.flatMap(({ file }) => filesOf(file, changed)))
    const files = changed.filter(file => !ofModules.has(file))
    if (files.length > 0 && String(files) !== this.#announced)
      this.#parts.log.warn(
        {},
        `${files.join(', ')} changed, which the whole program uses; to apply the change: ${REMEDY}`,
      )
    this.#announced = String(files)
  }

  /** Returns what sources import by `#…`, by name and by file, from the running program. */
  async #importable(): Promise<Record<string, object>> {
    const { runningModule } = await import('./running.ts')
    const names = [...(await sharedNames(ROOT, this.#parts.ports.files))]
    const entries = names.map(async ([name, file]) => {
      const module = await runningModule(name).catch(() => undefined)
      return module ? [[name, module] as const, [file, module] as const] : []
    })
    return Object.fromEntries((await Promise.all(entries)).flat())
  }
}

/** Returns those of the files, relative to the checkout, that are in the folder of a module. */
function filesOf(index: string, files: readonly string[]): string[] {
  const folder = `${relative(ROOT, dirname(index))}/`
  return files.filter(file => file.startsWith(folder))
}

/** Returns a source of the modules of this program's checkout; undefined where it is installed without one. */
export async function checkoutModules(parts: CheckoutParts): Promise<CheckoutModules | undefined> {
  const modules = await sourceModules(ROOT, parts.ports.files)
  return modules.length > 0 ? new CheckoutModules(parts) : undefined
}
