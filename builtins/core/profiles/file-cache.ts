import { basename, extname, join, sep } from 'node:path'
import { type Ports, SvcError } from '#kernel'
import { BadFileError } from '#lib/yaml'

const NAME = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export interface ListedFile {
  /** The file's stem: what it is asked for by. */
  name: string
  path: string
  /** The path as people see it. */
  shown: string
}

export interface FileCacheOptions<T> {
  ports: Pick<Ports, 'files' | 'stampOf'>
  /** Earlier folders win. A folder that is missing is an empty one. */
  folders: readonly string[]
  extensions: readonly string[]
  max_bytes: number
  show(path: string): string
  /** Makes the value of the file's text. May throw SvcError. */
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
 * Text files that people write, by name. Nothing is read before it is asked for, and read again only when it changed on disk;
 * a name is looked up among what the folders hold, so that no path is ever made of it.
 */
export class FileCache<T> {
  readonly #options: FileCacheOptions<T>
  readonly #listings = new Map<string, Listing>()
  readonly #held = new Map<string, CachedValue<T>>()
  readonly #reading = new Map<string, Promise<T | undefined>>()
  readonly #looking = new Map<string, Promise<ReadonlyMap<string, Found>>>()

  constructor(options: FileCacheOptions<T>) {
    this.#options = options
  }

  /** What the file of this name holds now; undefined when there is none. @throws BadFileError, the same one until the file changes */
  read(name: string): Promise<T | undefined> {
    const running = this.#reading.get(name)
    if (running) return running
    const reading = this.#read(name).finally(() => this.#reading.delete(name))
    this.#reading.set(name, reading)
    return reading
  }

  /** The files by name, sorted; an error stands for one that cannot be identified or has a bad name. */
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

  /** Those who ask at the same time look once. */
  #list(folder: string): Promise<ReadonlyMap<string, Found>> {
    const running = this.#looking.get(folder)
    if (running) return running
    const looking = this.#look(folder).finally(() => this.#looking.delete(folder))
    this.#looking.set(folder, looking)
    return looking
  }

  async #look(folder: string): Promise<ReadonlyMap<string, Found>> {
    const { files, stampOf } = this.#options.ports
    const version = stampOf(folder)
    if (version === undefined) return new Map()
    const listing = this.#listings.get(folder)
    if (listing?.version === version) return listing.byName
    const entries = await files.readdir(folder).catch((error: NodeJS.ErrnoException) => {
      // A disk that fails for a moment has not emptied the folder.
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
      throw error
    })
    const byName = this.#index(folder, entries)
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
    // What is wrong with the file stays so until it changes; that the disk failed does not.
    if ('value' in made || made.error instanceof SvcError) this.#held.set(file.path, made)
    return made
  }

  async #parse(folder: string, file: ListedFile, stats: Stats | undefined): Promise<T> {
    const { ports, max_bytes, parse } = this.#options
    const { files } = ports
    const bad = (problem: string, remedy: string) => new BadFileError({ file: file.shown, problem, remedy })
    if (!stats) throw bad('is a link to nothing', 'remove it or mend its target')
    const [real, home] = await Promise.all([files.realpath(file.path), files.realpath(folder)])
    if (!real.startsWith(home + sep)) throw bad('is a link that leaves its folder', 'copy the file here instead')
    if (!stats.isFile()) throw bad('is not a regular file', 'put a text file in its place')
    if (stats.size > max_bytes) throw bad(`is larger than ${max_bytes / 1024} KiB`, 'shorten it')
    const bytes = await files.readFile(real)
    const text = bytes.toString('utf8')
    if (!bytes.equals(Buffer.from(text))) throw bad('is not UTF-8 text', 'save it as UTF-8')
    return parse(text.replace(/^\uFEFF/, ''), file)
  }
}

/** What keeps files whose names are the same but for case or ending from being used. */
function faultOf(group: readonly ListedFile[]): SvcError | undefined {
  const [file, ...others] = group as [ListedFile, ...ListedFile[]]
  if (others.length > 0) {
    const rest = others.map(({ shown }) => shown).join(' and ')
    const problem = `differs from ${rest} only in case or ending`
    return new BadFileError({ file: file.shown, problem, remedy: 'rename or remove all but one of them' })
  }
  if (NAME.test(file.name)) return undefined
  const remedy = 'name it with at most 64 letters, digits, ".", "_" or "-", beginning with a letter or digit'
  return new BadFileError({ file: file.shown, problem: 'has a name that nothing can ask for', remedy })
}
