import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import {
  didYouMean,
  errorMessage,
  inactiveState,
  type LoadedPlugin,
  type Log,
  type PluginDefinition,
  type PluginState,
  type Ports,
  type Project,
  withTimeLimit,
  z,
} from '#kernel'
import { INDEX_FILES, stemOf } from '#lib/plugin-file'
import { readRegular } from '#lib/regular'
import { succeeds } from '#lib/succeeds'
import { compile, openRunner, type Runner, type Source } from './compiler.ts'
import type { PluginFile, Supervisor } from './contract.ts'
import { packageTimers } from './package-timers.ts'
import { packagesOf } from './packages.ts'
import { PluginTimers } from './plugin-timers.ts'

/** How long a plugin file may take to load, in milliseconds. */
const LOAD_LIMIT_MS = 5_000
/** A folder plugin's own files count up to here; more than that is data, not source. */
const MAX_FILES = 500
/** Age below which a changed file may be incomplete, in milliseconds. */
export const SETTLE_MS = 200
/** Maximum number of checks for incomplete files; a file that still changes then is loaded. */
const LOOKS = 25

export interface LoaderParts {
  ports: Ports
  project: Project
  log: Log
  allowlist: () => readonly string[]
  /** Modules that plugin files import by name, such as `svc`, or by the absolute path of their file. */
  modules: () => Promise<Record<string, object>>
  /** Returns why no plugin file may run now; undefined if they may. Called only if there are files. */
  blockedReason: (found?: number) => Promise<string | undefined>
  /** Called with the code that is about to run, and when it has given back control. */
  watch: Supervisor['watch']
  /** How long a file may take to load, in milliseconds. */
  limit_ms?: number
}

/** Matches files that are compiled and run. */
const SCRIPT = /\.[cm]?[jt]s$/
/** Matches files that authors take for scripts too; they are reported, not ignored. */
const LIKE_SCRIPT = /\.[cm]?[jt]sx?$/i
/** File extensions of scripts, in the order of lookup. */
const ENDINGS = INDEX_FILES.map(extname)

/** Fields of a plugin's definition. */
const FIELDS = Object.keys({
  name: 1,
  description: 1,
  version: 1,
  requires: 1,
  needs: 1,
  replaces: 1,
  fixed: 1,
  config: 1,
  section: 1,
  state: 1,
  setup: 1,
  base: 1,
} satisfies Record<keyof PluginDefinition, 1>)

/** The current contents of a plugin on disk. */
interface Look extends Pick<PluginFile, 'fingerprint' | 'written_ms'> {
  sources: Source[]
}

/** Finds plugin files and turns them into definitions. */
export class Loader {
  readonly #parts: LoaderParts
  /** Folder where jiti keeps compiled code. */
  readonly #cache: string
  #runner: Promise<Runner> | undefined
  /** Plugin files that may not run, as of the last `find`. */
  unloaded: readonly PluginState[] = []

  constructor(parts: LoaderParts) {
    this.#parts = parts
    this.#cache = join(parts.project.svc, 'cache', 'jiti')
  }

  /**
   * Returns all plugin files that may be loaded, in order. A script at the top level, or a folder with an index, is one
   * plugin; temporary files of editors, types and tests are none.
   */
  async find(): Promise<PluginFile[]> {
    const found: PluginFile[] = []
    for (const folder of this.#parts.project.plugins) {
      for (const file of await this.#candidates(folder)) {
        const stem = stemOf(file)
        if (!this.#isAllowed(file, stem)) continue
        const look = await this.look(file).catch((error: unknown) => this.#unread(file, error))
        if (look) found.push(look)
      }
    }
    const reason = found.length > 0 ? await this.#parts.blockedReason(found.length) : undefined
    this.unloaded =
      reason === undefined ? [] : found.map(({ stem, file }) => inactiveState(stem, file, 'unloaded', reason))
    return reason === undefined ? found : []
  }

  /** Returns the plugin in a file, in any folder, as it is now. */
  async look(file: string): Promise<PluginFile> {
    return pluginFile(file, await this.#look(file))
  }

  /** Returns a plugin file that cannot be read, so that loading it reports why; undefined if it was removed meanwhile. */
  async #unread(file: string, error: unknown): Promise<PluginFile | undefined> {
    const isThere = await succeeds(this.#parts.ports.files.lstat(file))
    return isThere ? pluginFile(file, { fingerprint: errorMessage(error), written_ms: 0 }) : undefined
  }

  /**
   * Runs the file. A caller that does not keep the plugin closes its `remains`.
   * @throws errors of the file; TimeLimitError; TypeError if it exports no plugin; the reason why no file may run
   */
  async load(plugin: PluginFile): Promise<LoadedPlugin> {
    const { clock } = this.#parts.ports
    const { file, stem, fingerprint } = plugin
    if (!SCRIPT.test(file)) throw new TypeError(`is not a plugin file: its name must end in ${ENDINGS.join(', ')}`)
    const reason = await this.#parts.blockedReason()
    if (reason !== undefined) throw new Error(reason)
    const began = clock.monotonic()
    const runner = await this.#getRunner()
    const { sources } = await this.#look(file)
    await compile(sources, this.#cache)
    const remains = await this.#timersOf(stem, sources)
    try {
      // Logged before it runs, so that the log names a file that ends the process.
      this.#parts.log.info({ plugin: stem }, `runs ${file}`)
      const module = await this.#run(file, stem, () => runner.import(file, sources, remains.own))
      const definition = checkDefinition(exportOf(module))
      if ((await this.#look(file)).fingerprint !== fingerprint) {
        throw new Error('changed while it was loaded; it is loaded again at the next check')
      }
      return { definition, origin: file, stem, load_ms: Math.round(clock.monotonic() - began), remains }
    } catch (error) {
      remains.close()
      throw error
    }
  }

  /** Returns the timers that a version starts: its own, and those of the packages that it uses. */
  async #timersOf(plugin: string, sources: readonly Source[]) {
    const own = new PluginTimers()
    const { folders, shared } = await packagesOf(this.#parts.ports.files, sources)
    const open = () => {
      own.open()
      packageTimers.use(own, plugin, folders)
    }
    const close = () => {
      own.close()
      packageTimers.release(own, shared)
    }
    open()
    return { own, open, close }
  }

  /** Returns the plugins' folder that contains a file. */
  #folderOf(file: string): string | undefined {
    return this.#parts.project.plugins.find(folder => file.startsWith(`${folder}/`))
  }

  async #run(file: string, stem: string, run: () => Promise<unknown>): Promise<unknown> {
    const { ports, limit_ms = LOAD_LIMIT_MS } = this.#parts
    // Node caches data files that plugins import, and would return their old contents.
    const { cache } = createRequire(import.meta.url)
    for (const path of Object.keys(cache)) if (this.#folderOf(path)) delete cache[path]
    // Watched until loading ends, because a module's code does not run in the first turn of the event loop.
    this.#parts.watch(stem, file, 'loading')
    try {
      return await withTimeLimit(ports.clock, limit_ms, `Loading ${file}`, run())
    } finally {
      this.#parts.watch(stem, file, undefined)
    }
  }

  async #candidates(folder: string): Promise<string[]> {
    const { files } = this.#parts.ports
    const entries = await files.readdir(folder, { withFileTypes: true }).catch(() => [])
    const candidates: string[] = []
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      if (!isSource(entry.name)) continue
      const path = join(folder, entry.name)
      // A link counts as its target.
      const found = entry.isSymbolicLink() ? await files.stat(path).catch(() => entry) : entry
      const file = found.isDirectory() ? await indexOf(files, path) : path
      if (file && LIKE_SCRIPT.test(file)) candidates.push(file)
    }
    return candidates
  }

  #isAllowed(file: string, stem: string): boolean {
    const names = this.#parts.allowlist()
    return names.length === 0 || names.some(name => name === basename(file) || name === stem)
  }

  /** Reads and hashes the file, its imports below the plugins' folder and, for a folder plugin, all of its sources. */
  async #look(file: string): Promise<Look> {
    const { files } = this.#parts.ports
    const hash = createHash('sha256')
    const seen = new Set<string>()
    const folder = this.#folderOf(file) ?? dirname(file)
    const waiting = isIndex(file) && dirname(file) !== folder ? await filesBelow(files, dirname(file)) : []
    waiting.unshift(file)
    const sources: Source[] = []
    let written_ms = 0
    for (let path = waiting.shift(); path !== undefined && seen.size < MAX_FILES; path = waiting.shift()) {
      if (seen.has(path)) continue
      seen.add(path)
      const text = (await readRegular(files, path)).toString('utf8')
      written_ms = Math.max(written_ms, (await files.stat(path)).mtimeMs)
      hash.update(`${relative(folder, path)}\0${text}\0`)
      if (SCRIPT.test(path))
        sources.push({ filename: path, source: text, ts: path.endsWith('ts'), async: !isCommonJs(path, text) })
      for (const [, specifier] of text.matchAll(IMPORTS)) {
        const imported = await this.#resolve(dirname(path), String(specifier))
        if (imported?.startsWith(`${folder}/`)) waiting.push(imported)
      }
    }
    return { fingerprint: hash.digest('hex'), written_ms, sources }
  }

  async #resolve(from: string, specifier: string): Promise<string | undefined> {
    const base = resolve(from, specifier)
    const spellings = [
      base,
      base.replace(/\.([cm]?)js$/, '.$1ts'),
      ...ENDINGS.map(ending => `${base}${ending}`),
      ...INDEX_FILES.map(index => join(base, index)),
    ]
    for (const path of spellings) {
      const stat = await this.#parts.ports.files.stat(path).catch(() => undefined)
      if (stat?.isFile()) return path
    }
    return undefined
  }

  #getRunner(): Promise<Runner> {
    const onMoved = (file: string, name: string, module: string) =>
      this.#parts.log.warn({}, `${file}: ${name} has moved; import it from '${module}'`)
    this.#runner ??= this.#parts.modules().then(modules => openRunner(this.#cache, modules, onMoved))
    return this.#runner
  }
}

/** Returns the result of `find` once the files that `concerns` selects are completely written. */
export async function waitUntilSettled<P extends Pick<PluginFile, 'written_ms'>>(
  find: () => Promise<P[]>,
  concerns: (each: P) => boolean,
  clock: Ports['clock'],
): Promise<P[]> {
  for (let looks = 1; ; looks++) {
    const found = await find()
    const ages = found.filter(concerns).map(each => clock.ms() - each.written_ms)
    // Ages far from zero mean nothing, for example under a clock that a test holds.
    const young = ages.filter(age => Math.abs(age) < SETTLE_MS)
    if (young.length === 0 || looks === LOOKS) return found
    await clock.sleep(SETTLE_MS - Math.max(0, Math.min(...young)))
  }
}

/** Matches relative imports, static or not. Text that only looks like one causes a needless reload at worst. */
const IMPORTS = /(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"](\.{1,2}\/[^'"\n]+)['"]/g

function isSource(name: string): boolean {
  return !/^[._#~]|~$|\.d\.ts$|\.(test|spec)\.\w+$/.test(name)
}

/** Returns whether a file is CommonJS: JavaScript without the syntax of ES modules. */
function isCommonJs(path: string, text: string): boolean {
  return (
    path.endsWith('.cjs') || (path.endsWith('.js') && !/^\s*(?:import|export|await)\b|\bimport\.meta\b/m.test(text))
  )
}

/** Returns whether a file is the index of its folder. */
function isIndex(file: string): boolean {
  return INDEX_FILES.includes(basename(file))
}

/** Returns the index of a folder, if it has one. */
async function indexOf(files: Ports['files'], folder: string): Promise<string | undefined> {
  for (const path of INDEX_FILES.map(index => join(folder, index))) if (await exists(files, path)) return path
  return undefined
}

async function filesBelow(files: Ports['files'], folder: string): Promise<string[]> {
  const entries = await files.readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  return entries
    .filter(entry => entry.isFile() && isSource(entry.name) && SCRIPT.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => !path.includes('/node_modules/'))
    .sort()
}

function exists(files: Ports['files'], path: string): Promise<boolean> {
  return succeeds(files.access(path))
}

function pluginFile(file: string, { fingerprint, written_ms }: Omit<Look, 'sources'>): PluginFile {
  return { file, origin: file, stem: stemOf(file), fingerprint, revision: fingerprint, written_ms }
}

/**
 * Returns what a module exports as its plugin: its default export, or everything if it sets CommonJS's `module.exports`
 * or TypeScript's `export =`.
 */
function exportOf(module: unknown): unknown {
  const { __esModule, default: own, setup } = Object(module) as Record<string, unknown>
  return own === undefined && setup && !__esModule ? module : own
}

/**
 * Returns what a file exports, or what code adds, if it is a plugin.
 * @throws TypeError that shows a correct definition
 */
export function checkDefinition(value: unknown, isExport = true): PluginDefinition {
  const right = `write: ${isExport ? 'export default ' : ''}definePlugin({ name: 'my-plugin', setup(svc) { … } })`
  const isMissing = value === undefined || value === null
  if (isMissing && isExport) throw new TypeError(`has no default export; ${right}`)
  if (isMissing || typeof value !== 'object') {
    const kind = isMissing ? value : `a ${typeof value}`
    throw new TypeError(`its ${isExport ? 'default export' : 'definition'} is ${kind}, not a plugin; ${right}`)
  }
  const unknown = Object.keys(value).find(key => !FIELDS.includes(key))
  if (unknown !== undefined)
    throw new TypeError(`its field ${JSON.stringify(unknown)} is not known; ${didYouMean(unknown, FIELDS)}`)
  const { name, setup } = value as Partial<PluginDefinition>
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) {
    throw new TypeError(
      `its name must be lower-case letters, digits and hyphens, not ${JSON.stringify(name)}; ${right}`,
    )
  }
  if (typeof setup !== 'function') throw new TypeError(`has no setup function; ${right}`)
  const { requires, needs, replaces, config, state } = value as { [K in keyof PluginDefinition]?: unknown }
  if (requires !== undefined && typeof requires !== 'string')
    throw new TypeError("its requires must be a range of versions of svc, such as '^1'; other plugins belong in needs")
  if (needs !== undefined && !(Array.isArray(needs) && needs.every(need => typeof need === 'string'))) {
    throw new TypeError("its needs must be a list of plugins' names, such as needs: ['memory']")
  }
  if (replaces !== undefined && typeof replaces !== 'string')
    throw new TypeError("its replaces must be the name of a module, such as replaces: 'memory'")
  if (config !== undefined && !(config instanceof z.ZodObject))
    throw new TypeError("its config must be a z.object({ … }) with the z of 'svc'")
  if (state !== undefined && !(state instanceof z.ZodType))
    throw new TypeError("its state must be a schema of the z of 'svc'")
  return value as PluginDefinition
}
