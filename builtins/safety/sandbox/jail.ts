import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Ids, Ports } from '#kernel'
import { type Jail, type JailFolder, OutsideError, PathError } from './contract.ts'

type Files = Ports['files']
type FileHandle = Awaited<ReturnType<Files['open']>>

/** Linux names every open folder below /proc; a path that begins there cannot be swapped on the way. */
const LINUX = process.platform === 'linux'
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** What git keeps in a repository can make it run programs; only git itself writes there. */
const GIT = /^\.git$/i

/** Files of a workspace, reached by paths that cannot lead out of it, through whatever links. */
export class FileJail implements Jail {
  readonly #files: Files
  readonly #ids: Ids

  constructor({ files, ids }: Pick<Ports, 'files' | 'ids'>) {
    this.#files = files
    this.#ids = ids
  }

  open(root: string, path: string): Promise<FileHandle> {
    return openInside(this.#files, root, path)
  }

  folder(root: string, path: string): Promise<JailFolder> {
    return openFolder(this.#files, root, path)
  }

  replace(root: string, path: string, bytes: Uint8Array): Promise<void> {
    return replaceInside(this.#files, root, path, bytes, `.${this.#ids.make('tmp', 16)}`)
  }

  resolve(root: string, path: string): Promise<{ real: string; exists: boolean }> {
    return telling(path, async () => {
      const { real, missing } = await locate(this.#files, root, path)
      return { real: join(real, ...missing), exists: missing.length === 0 }
    })
  }
}

/** Whether a path, relative to a workspace, leads to what git keeps there. */
function isOfGit(path: string): boolean {
  return path.split('/').some(name => GIT.test(name))
}

/**
 * An open folder that lies inside the jail. What is reached through it stays inside, whatever is renamed or linked meanwhile:
 * on Linux names are resolved from the open folder itself, elsewhere from its real path, checked when it is opened.
 */
class Folder implements JailFolder {
  readonly path: string
  readonly #files: Files
  readonly #base: string
  readonly #handle: FileHandle

  private constructor(files: Files, base: string, path: string, handle: FileHandle) {
    this.#files = files
    this.#base = base
    this.path = path
    this.#handle = handle
  }

  /** @throws OutsideError when what was opened does not lie in `base` */
  static async open(files: Files, base: string, path: string, asked: string): Promise<Folder> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = files.constants
    const handle = await files.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    try {
      const real = LINUX ? await files.readlink(`/proc/self/fd/${handle.fd}`) : await files.realpath(path)
      const same = LINUX || (await handle.stat()).ino === (await files.stat(real)).ino
      if (!same || !isInside(real, base)) throw new OutsideError({ path: asked })
      return new Folder(files, base, real, handle)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** The path of an entry, good while the folder is open. */
  at(name: string): string {
    return LINUX ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.path, name)
  }

  /** The folder of this name in this one; a link is not followed. */
  below(name: string, asked: string): Promise<Folder> {
    return Folder.open(this.#files, this.#base, this.at(name), asked)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

/**
 * Opens a regular file below `root` for reading, by any spelling that leads there; links are followed as long as they stay inside.
 * @param path relative to `root`, or absolute below it
 * @returns the open file; the caller closes it
 * @throws OutsideError, PathError
 */
function openInside(files: Files, root: string, path: string): Promise<FileHandle> {
  return telling(path, async () => {
    const { base, real, missing } = await locate(files, root, path)
    if (missing.length > 0) throw new PathError({ path, problem: PROBLEMS.ENOENT! })
    if (real === base) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
    const folder = await Folder.open(files, base, dirname(real), path)
    try {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = files.constants
      // Without O_NONBLOCK opening a pipe would wait for its other end.
      const handle = await files.open(folder.at(basename(real)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        refuseSpecial(await handle.stat(), path)
        return handle
      } catch (error) {
        await handle.close()
        throw error
      }
    } finally {
      await folder.close()
    }
  })
}

/** Opens a folder below `root`. The caller closes it. @throws OutsideError, PathError */
function openFolder(files: Files, root: string, path: string): Promise<Folder> {
  return telling(path, async () => {
    const { base, real, missing } = await locate(files, root, path)
    if (missing.length > 0) throw new PathError({ path, problem: PROBLEMS.ENOENT! })
    return Folder.open(files, base, real, path)
  })
}

/**
 * Replaces a file below `root` as a whole, or makes it together with its folders: written beside, flushed, renamed. It keeps
 * its permissions; a reader sees the old or the new bytes.
 * @param beside name of the file that is written first, unused so far
 * @throws OutsideError, PathError
 */
function replaceInside(files: Files, root: string, path: string, bytes: Uint8Array, beside: string): Promise<void> {
  return telling(path, async () => {
    if (/\/\.?$/.test(path)) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
    await files.mkdir(root, { recursive: true, mode: FOLDER_MODE })
    const { base, real, missing } = await locate(files, root, path)
    if (real === base && missing.length === 0) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
    if (isOfGit(relative(base, join(real, ...missing)))) {
      throw new PathError({ path, problem: 'is where git keeps its own; the git tools change it' })
    }
    const name = missing.at(-1) ?? basename(real)
    const start = missing.length > 0 ? real : dirname(real)
    const folder = await makeFolders(files, await Folder.open(files, base, start, path), missing.slice(0, -1), path)
    try {
      await replaceIn(files, folder, name, path, bytes, beside)
    } finally {
      await folder.close()
    }
  })
}

async function makeFolders(files: Files, start: Folder, names: readonly string[], path: string): Promise<Folder> {
  let folder = start
  for (const name of names) {
    try {
      await files.mkdir(folder.at(name), FOLDER_MODE).catch(unlessCode('EEXIST'))
      const next = await folder.below(name, path)
      await folder.close()
      folder = next
    } catch (error) {
      await folder.close()
      throw error
    }
  }
  return folder
}

async function replaceIn(files: Files, folder: Folder, name: string, path: string, bytes: Uint8Array, beside: string) {
  const old = await files.lstat(folder.at(name)).catch(unlessCode('ENOENT'))
  if (old) refuseSpecial(old, path)
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = files.constants
  const handle = await files.open(folder.at(beside), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE)
  try {
    try {
      await handle.writeFile(bytes)
      if (old) await handle.chmod(old.mode & 0o777)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await files.rename(folder.at(beside), folder.at(name))
  } catch (error) {
    await files.rm(folder.at(beside), { force: true })
    throw error
  }
}

/** Only regular files with one name: a second name may be that of a file elsewhere. */
function refuseSpecial(stats: Awaited<ReturnType<Files['lstat']>>, path: string): void {
  if (stats.isDirectory()) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
  if (!stats.isFile()) throw new PathError({ path, problem: PROBLEMS.ENXIO! })
  if (stats.nlink > 1) {
    throw new PathError({ path, problem: 'is a hard link, which may lead out of your workspace; use another file' })
  }
}

/** Where a path leads: the real path of what exists of it, and the names below that do not exist yet. */
async function locate(files: Files, root: string, path: string) {
  refuseSpelling(path)
  const base = await files.realpath(root).catch(error => {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new PathError({ path, problem: 'does not exist: your workspace is still empty' })
  })
  const full = resolve(root, path)
  if (!isInside(full, resolve(root)) && !isInside(full, base)) throw new OutsideError({ path })
  const missing: string[] = []
  for (let at = full; ; at = dirname(at)) {
    const real = await files.realpath(at).catch(unlessCode('ENOENT', 'ENOTDIR'))
    if (real === undefined) {
      missing.unshift(basename(at))
      continue
    }
    if (!isInside(real, base)) throw new OutsideError({ path })
    return { base, real, missing }
  }
}

function refuseSpelling(path: string): void {
  const refuse = (problem: string): never => {
    throw new PathError({ path: path.slice(0, 200), problem })
  }
  if (/\p{Cc}/u.test(path)) refuse('holds control characters; leave them out')
  if (path.includes('\\')) refuse('holds a backslash; write "/" between folders')
  if (/^~/.test(path)) refuse('begins with "~", which means nothing here; paths begin in your workspace')
  if (path.length > 4096) refuse('is longer than 4,096 characters')
}

/** Whether a path is `folder` or below it; both absolute. */
function isInside(path: string, folder: string): boolean {
  const below = relative(folder, path)
  return below !== '..' && !below.startsWith('../') && !isAbsolute(below)
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'does not exist; list_dir shows what there is',
  ENOTDIR: 'is not a folder of your workspace, or leads through something that is none',
  EISDIR: 'is a folder, not a file; list_dir shows what is in it',
  ENXIO: 'is not a regular file',
  ELOOP: 'is a link that leads nowhere',
  EACCES: 'is closed to you by its permissions',
  EPERM: 'is closed to you by its permissions',
  EROFS: 'cannot be written: the disk is read-only',
  ENOSPC: 'could not be written: the disk is full',
  EDQUOT: 'could not be written: the disk is full',
  ENAMETOOLONG: 'holds a name that is too long (255 bytes at most)',
  EMFILE: 'cannot be opened now, since too many files are open; try again later',
  ENFILE: 'cannot be opened now, since too many files are open; try again later',
}

/** Puts the system's error codes into words; the system's own would show paths that mean nothing to the reader. */
async function telling<R>(path: string, work: () => Promise<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (!code || !('syscall' in (error as object))) throw error
    throw new PathError({ path, problem: PROBLEMS[code] ?? `could not be used (${code})` }, { cause: error })
  }
}

function unlessCode(...codes: string[]) {
  return (error: unknown): undefined => {
    if (!codes.includes(codeOf(error) ?? '')) throw error
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
