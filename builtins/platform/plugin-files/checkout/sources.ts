import { createHash } from 'node:crypto'
import { basename, dirname, join, relative } from 'node:path'
import type { Ports } from '#kernel'

type Files = Pick<Ports['files'], 'readdir' | 'readFile' | 'stat'>

/** Folders with the program's sources, relative to the checkout. */
export const PROGRAM = ['kernel', 'builtins', 'embed']
/** Files of modules that other modules import, or that are the same for all: they change with the program. */
const SHARED = ['contract.ts', 'statements.ts', 'migrations.ts']
/** Modules that are never reloaded: the command line runs before modules are loaded, the watchdog in its own thread. */
const BUILT = ['cli', 'watchdog']

/** A module in its checkout. */
export interface SourceModule {
  name: string
  /** Its `index.ts`, as an absolute path. */
  file: string
  /** Whether it only changes at a start. */
  isFixed: boolean
}

/** Returns whether a file of a module changes with the program, and not with the module. */
export function isShared(file: string): boolean {
  return SHARED.includes(basename(file))
}

/** Returns the modules of the checkout at `root` that can be loaded from their sources; none where there is no checkout. */
export async function sourceModules(root: string, files: Files): Promise<SourceModule[]> {
  const list = join(root, 'builtins', 'index.ts')
  const text = await files.readFile(list, 'utf8').catch(() => '')
  const modules = [...text.matchAll(/^import \w+ from '(\.\/[^']+\/index\.ts)'$/gm)].map(async ([, path]) => {
    const file = join(dirname(list), String(path))
    const source = await files.readFile(file, 'utf8').catch(() => '')
    return { name: /\bname: '([^']+)'/.exec(source)?.[1] ?? '', file, isFixed: /^ {2}fixed: true,$/m.test(source) }
  })
  return (await Promise.all(modules)).filter(({ name }) => name !== '' && !BUILT.includes(name))
}

/** Returns the names by which modules import each other and the libraries, with their files. */
export async function sharedNames(root: string, files: Files): Promise<Map<string, string>> {
  const builtins = join(root, 'builtins')
  const all = await sourcesBelow(builtins, files)
  const shared = all.filter(file => isShared(file) || dirname(file) === join(builtins, 'lib'))
  const names = shared.map(file => [`#${relative(builtins, file).slice(0, -'.ts'.length)}`, file] as const)
  return new Map([['#kernel', join(root, 'kernel', 'index.ts')], ...names])
}

/**
 * Returns the sources of the checkout at `root` that take effect only at a start.
 * @param isBuilt whether the program is the bundle, which loads only changed modules from their sources
 */
export async function sourcesOfStart(root: string, files: Files, isBuilt: boolean): Promise<string[]> {
  const [modules, sources] = await Promise.all([sourceModules(root, files), programSources(root, files)])
  const folders = modules.filter(({ isFixed }) => isFixed === isBuilt).map(({ file }) => `${dirname(file)}/`)
  const isOfThese = (file: string) => !isShared(file) && folders.some(folder => file.startsWith(folder))
  return sources.filter(file => isOfThese(file) === isBuilt)
}

/** Hashes of the program's sources, by path relative to the checkout. Unchanged files are not read again. */
export class SourceHashes {
  readonly #root: string
  readonly #files: Files
  readonly #known = new Map<string, { changed: string; hash: string }>()

  constructor(root: string, files: Files) {
    this.#root = root
    this.#files = files
  }

  async read(): Promise<Map<string, string>> {
    const sources = await programSources(this.#root, this.#files)
    const hashes = sources.map(async file => [relative(this.#root, file), await this.#hash(file)] as const)
    return new Map((await Promise.all(hashes)).filter(([, hash]) => hash !== ''))
  }

  /** Returns the hash of a file; an empty string if the file is gone. */
  async #hash(file: string): Promise<string> {
    try {
      const { mtimeMs, size } = await this.#files.stat(file)
      const changed = `${mtimeMs} ${size}`
      const known = this.#known.get(file)
      if (known?.changed === changed) return known.hash
      const text = await this.#files.readFile(file)
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
      this.#known.set(file, { changed, hash })
      return hash
    } catch {
      return ''
    }
  }
}

async function programSources(root: string, files: Files): Promise<string[]> {
  return (await Promise.all(PROGRAM.map(folder => sourcesBelow(join(root, folder), files)))).flat()
}

async function sourcesBelow(folder: string, files: Files): Promise<string[]> {
  const names = await files.readdir(folder, { recursive: true }).catch(() => [])
  const sources = names.filter(name => /(?<!\.d)\.ts$|schema-thread\.js$/.test(name) && !/\.test\.ts$/.test(name))
  return sources.map(name => join(folder, name)).sort()
}
