import type { Ports } from '#kernel'
import type { JailFolder } from '#safety/sandbox/contract'
import type { IgnoreRules } from './search/ignore.ts'
import { isIgnored, rulesIn } from './search/walk.ts'

interface Entry {
  name: string
  isDirectory(): boolean
}

/** Maximum number of entries visited by one listing. */
const MAX_VISITED = 20_000

interface ListOptions {
  offset: number
  limit: number
  /** The folder's path relative to the root of the rules, with a trailing slash; empty for the root. */
  base: string
  signal: AbortSignal
}

/**
 * Lists the contents of an open folder, depth first and sorted by name, with sizes, and closes the folder. Links are
 * named but not followed. What git ignores is marked, and such folders are shown without contents.
 * @param options.rules exclusion rules of the folders above
 */
export async function listTree(
  files: Ports['files'],
  folder: JailFolder,
  path: string,
  options: ListOptions & { depth: number; rules: IgnoreRules },
): Promise<string> {
  const walk = new Walk(files, options)
  try {
    await walk.into(folder, path, '', options.depth, options.rules)
  } finally {
    await folder.close()
  }
  return walk.render()
}

class Walk {
  readonly #files: Ports['files']
  readonly #options: ListOptions
  readonly #lines: string[] = []
  #seen = 0
  #hidden = 0
  #more = false

  constructor(files: Ports['files'], options: ListOptions) {
    this.#files = files
    this.#options = options
  }

  async into(folder: JailFolder, shownPath: string, prefix: string, depth: number, rules: IgnoreRules): Promise<void> {
    const { offset, limit, base, signal } = this.#options
    const here = rules.withRules(await rulesIn(this.#files, folder), (base + prefix).replace(/\/$/, ''))
    for (const entry of await this.#entries(folder)) {
      signal.throwIfAborted()
      if (entry.name.startsWith('.')) {
        this.#hidden++
        continue
      }
      if (this.#lines.length >= limit || this.#seen >= MAX_VISITED) {
        this.#more = true
        return
      }
      const name = prefix + entry.name
      const ignored = isIgnored(entry.name, base + name, entry.isDirectory(), here)
      if (this.#seen++ >= offset) this.#lines.push(await this.#line(folder, entry, name, ignored))
      if (!entry.isDirectory() || ignored || depth <= 1) continue
      // A folder that was removed meanwhile, or is not readable, is listed without contents.
      const below = await folder.below(entry.name, shownPath).catch(() => undefined)
      if (!below) continue
      try {
        await this.into(below, shownPath, `${name}/`, depth - 1, here)
      } finally {
        await below.close()
      }
      if (this.#more) return
    }
  }

  async #entries(folder: JailFolder): Promise<Entry[]> {
    const entries: Entry[] = []
    for await (const entry of await this.#files.opendir(folder.at('.'))) {
      if (entries.push(entry) >= MAX_VISITED) break
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async #line(folder: JailFolder, entry: Entry, name: string, ignored: boolean): Promise<string> {
    const shown = /\p{C}/u.test(name) ? JSON.stringify(name) : name
    if (entry.isDirectory()) return ignored ? `${shown}/  (ignored, not listed)` : `${shown}/`
    const stats = await this.#files.lstat(folder.at(entry.name)).catch(() => undefined)
    if (stats?.isSymbolicLink()) return `${shown}  (a link)`
    const mark = ignored ? '  (ignored)' : ''
    return stats?.isFile() ? `${shown}  ${stats.size} bytes${mark}` : `${shown}  (not a regular file)`
  }

  render(): string {
    const { offset, limit } = this.#options
    const notes: string[] = []
    if (this.#lines.length === 0)
      notes.push(offset > 0 ? `There are only ${this.#seen} entries.` : 'There are no entries to show.')
    if (this.#more) {
      const next = offset + this.#lines.length
      const far = this.#seen >= MAX_VISITED && this.#lines.length < limit
      notes.push(far ? 'There are too many entries for one listing; list a subfolder.' : `More with offset=${next}.`)
    }
    if (this.#hidden > 0) notes.push(`Not shown: ${this.#hidden} whose names begin with a dot.`)
    return [...this.#lines, ...notes.map(note => `[${note}]`)].join('\n')
  }
}
