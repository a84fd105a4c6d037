import { createHash } from 'node:crypto'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { SvcError } from './errors.ts'
import type { Log } from './log.ts'
import type { PluginDefinition, Project } from './plugin.ts'
import { type Ports, within } from './ports.ts'

/** How long a file may take to load, in milliseconds. */
const LOAD_LIMIT_MS = 5_000
/** A folder plugin's own files count up to here; more than that is data, not source. */
const MAX_FILES = 500

/** A plugin as it stands on disk: its file, and a hash over all that it is made of. */
export interface PluginFile {
  /** The file, or the `index.ts` of its folder. */
  file: string
  /** Its name without ending, or its folder's: how people refer to it. */
  stem: string
  fingerprint: string
}

export interface LoaderParts {
  ports: Ports
  project: Project
  log: Log
  allowlist: () => readonly string[]
  /** Modules that plugin files import by name: the package's front door as `svc`. */
  modules: () => Promise<Record<string, unknown>>
}

/** Finds plugin files and turns them into definitions. */
export class Loader {
  readonly #parts: LoaderParts
  #jiti: Promise<{ import(file: string): Promise<unknown> }> | undefined

  constructor(parts: LoaderParts) {
    this.#parts = parts
  }

  /**
   * All plugin files that may be loaded, in their order. A top-level `.ts`, `.js` or `.mjs` file, or a folder with
   * `index.ts`, is one plugin; editors' temporary files, types and tests are none.
   */
  async find(): Promise<PluginFile[]> {
    const found: PluginFile[] = []
    for (const folder of this.#parts.project.plugins) {
      for (const file of await this.#candidates(folder)) {
        const stem = stemOf(file)
        if (!this.#allowed(file, stem)) continue
        const fingerprint = await this.#fingerprint(folder, file).catch(() => undefined)
        // Gone again since the folder was read.
        if (fingerprint !== undefined) found.push({ file, stem, fingerprint })
      }
    }
    return found
  }

  /** Runs the file. @throws what it throws; TimeLimitError; TypeError when it exports no plugin */
  async load({ file, stem }: PluginFile): Promise<{ definition: PluginDefinition; load_ms: number }> {
    const { clock } = this.#parts.ports
    const began = clock.monotonic()
    this.#jiti ??= this.#createJiti()
    const jiti = await this.#jiti
    // Told before it runs: a file that ends the process must have been named.
    this.#parts.log.info({ plugin: stem }, `runs ${file}`)
    const module = await within(clock, LOAD_LIMIT_MS, `Loading ${file}`, jiti.import(file))
    const definition = checkDefinition((module as { default?: unknown } | undefined)?.default)
    return { definition, load_ms: Math.round(clock.monotonic() - began) }
  }

  async #candidates(folder: string): Promise<string[]> {
    const { files } = this.#parts.ports
    const entries = await files.readdir(folder, { withFileTypes: true }).catch(() => [])
    const found: string[] = []
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      if (!isSource(entry.name)) continue
      const path = join(folder, entry.name)
      if (!entry.isDirectory()) {
        if (['.ts', '.js', '.mjs'].includes(extname(entry.name))) found.push(path)
        continue
      }
      const index = join(path, 'index.ts')
      if (await exists(files, index)) found.push(index)
    }
    return found
  }

  #allowed(file: string, stem: string): boolean {
    const names = this.#parts.allowlist()
    return names.length === 0 || names.some(name => name === basename(file) || name === stem)
  }

  /** Over the file, what it imports from below the plugins' folder, and for a folder plugin all of its files. */
  async #fingerprint(folder: string, file: string): Promise<string> {
    const { files } = this.#parts.ports
    const hash = createHash('sha256')
    const seen = new Set<string>()
    const waiting =
      basename(file) === 'index.ts' && dirname(file) !== folder ? await filesBelow(files, dirname(file)) : []
    waiting.unshift(file)
    for (let path = waiting.shift(); path !== undefined && seen.size < MAX_FILES; path = waiting.shift()) {
      if (seen.has(path)) continue
      seen.add(path)
      const text = await files.readFile(path, 'utf8')
      hash.update(`${relative(folder, path)}\0${text}\0`)
      for (const [, specifier] of text.matchAll(IMPORTS)) {
        const imported = await this.#resolve(dirname(path), String(specifier))
        if (imported?.startsWith(`${folder}/`)) waiting.push(imported)
      }
    }
    return hash.digest('hex')
  }

  async #resolve(from: string, specifier: string): Promise<string | undefined> {
    const base = resolve(from, specifier)
    const spellings = [
      base,
      base.replace(/\.js$/, '.ts'),
      `${base}.ts`,
      `${base}.js`,
      `${base}.mjs`,
      join(base, 'index.ts'),
    ]
    for (const path of spellings) {
      const stat = await this.#parts.ports.files.stat(path).catch(() => undefined)
      if (stat?.isFile()) return path
    }
    return undefined
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

/** Relative imports, static or not. Text that only looks like one makes a needless reload at worst. */
const IMPORTS = /(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"](\.{1,2}\/[^'"\n]+)['"]/g

function isSource(name: string): boolean {
  return !/^[._#~]|~$|\.d\.ts$|\.test\.ts$/.test(name)
}

async function filesBelow(files: Ports['files'], folder: string): Promise<string[]> {
  const entries = await files.readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  return entries
    .filter(entry => entry.isFile() && !/^[.#]|~$/.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => !path.includes('/node_modules/'))
    .sort()
}

function exists(files: Ports['files'], path: string): Promise<boolean> {
  return files.access(path).then(
    () => true,
    () => false,
  )
}

export function stemOf(file: string): string {
  const name = basename(file)
  return name === 'index.ts' ? basename(dirname(file)) : name.slice(0, name.length - extname(name).length)
}

/** @throws TypeError that shows what would be right */
export function checkDefinition(value: unknown): PluginDefinition {
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

/** The place in the plugin's own files that an error points at: the file, with the line where that is known. */
export function whereOf(error: unknown, origin: string): string {
  if (origin === 'builtin' || error instanceof SvcError) return origin
  const text = error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : ''
  const at = text.indexOf(`${origin}:`)
  const line = at < 0 ? undefined : /^:(\d+)/.exec(text.slice(at + origin.length))?.[1]
  return line ? `${origin}:${line}` : origin
}
