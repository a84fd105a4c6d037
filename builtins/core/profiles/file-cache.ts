import { basename, extname, join, sep } from 'node:path'
import { type Ports, SvcError } from '#kernel'
import { shareCalls } from '#lib/share-calls'
import { unlessCode } from '#lib/unless-code'
import { BadFileError } from '#lib/yaml'

const NAME = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export interface ListedFile {
  /** The file's name without extension, used to look it up. */
  name: string
  path: string
  /** The path to display. */
  shown: string
}

export interface FileCacheOptions<T> {
  ports: Pick<Ports, 'files' | 'stampOf'>
  /** Folders to search; earlier ones take precedence. A missing folder counts as empty. */
  folders: readonly string[]
  extensions: readonly string[]
  max_bytes: number
  show(path: string): string
  /** Converts the file's text to a value. May throw SvcError. */
  parse(text: string, file: ListedFile): T
}

type Stats = Awaited<ReturnType<Ports['files']['lstat']>>
type Found = ListedFile | SvcError
interface Listing {
  version: string
  byName: ReadonlyMap<string, Found>
}
type CachedValue<T> = { version: string | undefined } & ({ value: T } | { error: unknown })

/**
 * Cache of user-written text files by name. Reads a file only on request, and again only after it changed on disk.
 * Looks names up in the folder listings, so that no path is built from a name.
 */
export class FileCache<T> {
  readonly #options: FileCacheOptions<T>
  readonly #listings = new Map<string, Listing>()
  readonly #held = new Map<string, CachedValue<T>>()
  readonly #list = shareCalls((folder: string) => this.#readListing(folder))

  constructor(options: FileCacheOptions<T>) {
    this.#options = options
  }

  /**
   * Returns the value of the file with this name; undefined if there is none.
   * @throws BadFileError, the same instance until the file changes
   */
  readonly read = shareCalls((name: string) => this.#read(name))

  /** Returns the files by name, sorted, with an error for each file whose name is ambiguous or invalid. */
  async list(): Promise<[name: string, found: Found][]> {
    const all = new Map<string, Found>()
    for (const folder of this.#options.folders) {
      for (const [name, found] of await this.#list(folder)) if (!all.has(name)) all.set(name, found)
    }
    return [...all].sort(([a], [b]) => (a < b ? -1 : 1))
  }

  async #read(name: string): Promise<T | undefined> {
    for (const folder of this.#options.folders) {
      const found = (await this.#list(folder)).get(name)
      if (found instanceof Error) throw found
      const held = found && (await this.#load(folder, found))
      if (held && 'error' in held) throw held.error
      if (held) return held.value
    }
    return undefined
  }

  async #readListing(folder: string): Promise<ReadonlyMap<string, Found>> {
    const { files, stampOf } = this.#options.ports
    const version = stampOf(folder)
    if (version === undefined) return new Map()
    const listing = this.#listings.get(folder)
    if (listing?.version === version) return listing.byName
    // A temporary disk error does not mean that the folder is empty.
    const entries = await files.readdir(folder).catch(unlessCode('ENOENT', 'ENOTDIR'))
    const byName = this.#index(folder, entries ?? [])
    this.#listings.set(folder, { version, byName })
    return byName
  }

  #index(folder: string, entries: readonly string[]): Map<string, Found> {
    const { extensions, show } = this.#options
    const alike = new Map<string, ListedFile[]>()
    for (const entry of entries) {
      const extension = extname(entry)
      if (!extensions.includes(extension) || /^[._#~]/.test(entry)) continue
      const path = join(folder, entry)
      const name = basename(entry, extension)
      const key = name.toLowerCase()
      alike.set(key, [...(alike.get(key) ?? []), { name, path, shown: show(path) }])
    }
    return new Map(
      [...alike.values()].flatMap(group => {
        const error = faultOf(group)
        return group.map((file): [string, Found] => [file.name, error ?? file])
      }),
    )
  }

  async #load(folder: string, file: ListedFile): Promise<CachedValue<T> | undefined> {
    const { files, stampOf } = this.#options.ports
    const version = stampOf(file.path)
    const held = this.#held.get(file.path)
    if (held && held.version === version) return held
    const own = await files.lstat(file.path).catch(() => undefined)
    if (!own) return undefined
    const target = own.isSymbolicLink() ? await files.stat(file.path).catch(() => undefined) : own
    const made: CachedValue<T> = await this.#parse(folder, file, target).then(
      value => ({ version, value }),
      error => ({ version, error }),
    )
    // Caches errors of the file until it changes, but not errors of the disk.
    if ('value' in made || made.error instanceof SvcError) this.#held.set(file.path, made)
    return made
  }

  async #parse(folder: string, file: ListedFile, stats: Stats | undefined): Promise<T> {
    const { ports, max_bytes, parse } = this.#options
    const { files } = ports
    const bad = (problem: string, remedy: string) => new BadFileError({ file: file.shown, problem, remedy })
    if (!stats) throw bad('is a link to a file that does not exist', 'remove it or fix its target')
    const [real, home] = await Promise.all([files.realpath(file.path), files.realpath(folder)])
    if (!real.startsWith(home + sep)) throw bad('is a link to a file outside its folder', 'copy the file here instead')
    if (!stats.isFile()) throw bad('is not a regular file', 'replace it with a text file')
    if (stats.size > max_bytes) throw bad(`is larger than ${max_bytes / 1024} KiB`, 'shorten it')
    const bytes = await files.readFile(real)
    const text = bytes.toString('utf8')
    if (!bytes.equals(Buffer.from(text))) throw bad('is not UTF-8 text', 'save it as UTF-8')
    return parse(text.replace(/^\uFEFF/, ''), file)
  }
}

/** Returns an error if the file's name is invalid, or equal to another one except for case or extension. */
function faultOf(group: readonly ListedFile[]): SvcError | undefined {
  const [file, ...others] = group as [ListedFile, ...ListedFile[]]
  if (others.length > 0) {
    const rest = others.map(({ shown }) => shown).join(' and ')
    const problem = `differs from ${rest} only in case or extension`
    return new BadFileError({ file: file.shown, problem, remedy: 'rename or remove all but one of them' })
  }
  if (NAME.test(file.name)) return undefined
  const remedy = 'name it with at most 64 letters, digits, ".", "_" or "-", beginning with a letter or digit'
  return new BadFileError({ file: file.shown, problem: 'has an invalid name', remedy })
}
