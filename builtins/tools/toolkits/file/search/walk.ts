import type { Ports } from '#kernel'
import type { JailFolder } from '#safety/sandbox/contract'
import type { IgnoreRules } from './ignore.ts'

/** Maximum number of entries visited by one search. */
const MAX_VISITED = 50_000
/** Maximum number of bytes read of a `.gitignore`. */
const MAX_RULES = 100_000
/** Folders of git and of the service, which are searched only when the search begins there. */
const NEVER = ['.git', '.svc', '.tmp', '.output']
/** Folders excluded as if `.gitignore` named them. */
const USUALLY = ['node_modules', '__pycache__', '.venv']

export interface FoundFile {
  /** Path relative to the folder where the search began. */
  path: string
  /** Path by which the file can be opened until the walk continues. */
  at: string
}

export interface WalkOptions {
  /** Start of the walk, relative to the workspace, with a trailing slash; empty for the workspace. */
  base: string
  /** Exclusion rules of the folders above. */
  rules: IgnoreRules
  /** Whether to include files that `.gitignore` excludes. */
  all: boolean
  signal: AbortSignal
}

/**
 * Iterates over the regular files below an open folder, sorted, without those that git ignores. Does not follow links.
 */
export class Walk {
  /** Whether the walk stopped at the maximum number of entries. */
  cut = false
  readonly #files: Ports['files']
  readonly #options: WalkOptions
  #visited = 0

  constructor(files: Ports['files'], options: WalkOptions) {
    this.#files = files
    this.#options = options
  }

  /** @param shownPath the folder's path, as the agent gave it */
  async *walkFolder(
    folder: JailFolder,
    shownPath: string,
    prefix = '',
    rules = this.#options.rules,
  ): AsyncGenerator<FoundFile> {
    const place = (this.#options.base + prefix).replace(/\/$/, '')
    const here = this.#options.all ? rules : rules.withRules(await rulesIn(this.#files, folder), place)
    for (const entry of await this.#entries(folder)) {
      this.#options.signal.throwIfAborted()
      if (this.#visited++ >= MAX_VISITED) {
        this.cut = true
        return
      }
      const path = prefix + entry.name
      if (this.#isLeftOut(entry.name, this.#options.base + path, entry.isDirectory(), here)) continue
      if (entry.isFile()) yield { path, at: folder.at(entry.name) }
      if (!entry.isDirectory()) continue
      // A folder that was removed meanwhile, or is not readable, is treated as empty.
      const next = await folder.below(entry.name, shownPath).catch(() => undefined)
      if (!next) continue
      try {
        yield* this.walkFolder(next, shownPath, `${path}/`, here)
      } finally {
        await next.close()
      }
      if (this.cut) return
    }
  }

  #isLeftOut(name: string, path: string, isFolder: boolean, rules: IgnoreRules): boolean {
    if (isFolder && NEVER.includes(name)) return true
    if (this.#options.all) return false
    return isIgnored(name, path, isFolder, rules)
  }

  async #entries(folder: JailFolder) {
    const entries = await this.#files.readdir(folder.at('.'), { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

/** Returns whether git ignores an entry, or usually would. @param path relative to the root of the rules */
export function isIgnored(name: string, path: string, isFolder: boolean, rules: IgnoreRules): boolean {
  return (isFolder && USUALLY.includes(name)) || rules.excludes(path, isFolder)
}

/** Returns the text of a folder's `.gitignore`; empty when there is none. */
export async function rulesIn(files: Ports['files'], folder: JailFolder): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = files.constants
  const handle = await files.open(folder.at('.gitignore'), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined)
  if (!handle) return ''
  try {
    const stats = await handle.stat()
    return stats.isFile() && stats.size <= MAX_RULES ? await handle.readFile('utf8') : ''
  } finally {
    await handle.close()
  }
}
