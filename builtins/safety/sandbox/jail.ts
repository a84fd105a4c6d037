import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { unlessCode } from '#lib/unless-code'
import { admitPath } from './admit.ts'
import {
  type FolderInput,
  type GivenFolder,
  type Jail,
  type JailFolder,
  OutsideError,
  PathError,
  type Reach,
  type ReachedPath,
  ReadOnlyError,
  type ReplaceCheck,
} from './contract.ts'
import { type Area, areaOf, areasOf, isInside, refuseClosed, searchArea } from './reach.ts'

type Files = Ports['files']
type FileHandle = Awaited<ReturnType<Files['open']>>

/** Whether each open folder has a path below /proc, as on Linux. Such a path cannot be replaced during use. */
const LINUX = process.platform === 'linux'
/** Modes in the agent's own folder. New files in the operator's folders get the default modes. */
const OWN_MODES = { folder: 0o700, file: 0o600 }
const GIVEN_MODES = { folder: 0o777, file: 0o666 }
/** Only git itself may write in `.git`, because files there can make git run programs. */
const GIT = /^\.git$/i

/** Opens files in an agent's folders. Links cannot lead outside them. */
export class FileJail implements Jail {
  readonly #ports: Pick<Ports, 'files' | 'ownFiles' | 'ids' | 'env'>
  readonly #files: Files
  readonly #root: string
  /** Serializes replacements, by the file's real path. */
  readonly #inTurn = keyedMutex()

  /** @param root folder of the service's own project */
  constructor(ports: Pick<Ports, 'files' | 'ownFiles' | 'ids' | 'env'>, root: string) {
    this.#ports = ports
    this.#root = root
    this.#files = ports.files
  }

  admit(given: FolderInput, usual: GivenFolder['access'], base?: string): Promise<GivenFolder> {
    return admitPath(this.#ports, given, usual, base)
  }

  open(reach: Reach, path: string): Promise<FileHandle> {
    return openInside(this.#files, reach, path)
  }

  folder(reach: Reach, path: string): Promise<JailFolder> {
    return openFolder(this.#files, reach, path)
  }

  replace(reach: Reach, path: string, bytes: Uint8Array, check?: ReplaceCheck): Promise<void> {
    const beside = `.${this.#ports.ids.make('tmp', 16)}`
    const files = this.#filesFor(reach)
    return replaceInside(files, reach, path, bytes, beside, (folder, name) =>
      this.#inTurn(join(folder.path, name), async () => {
        if (check) await checkCurrent(files, folder, name, path, check)
        await files.rename(folder.at(beside), folder.at(name))
      }),
    )
  }

  resolve(reach: Reach, path: string): Promise<ReachedPath> {
    const files = this.#filesFor(reach)
    return withTarget(path, async () => {
      await makeOwn(files, reach)
      const { area, real, missing } = await locate(files, reach, path)
      const { path: folder, access } = area
      return { real: join(real, ...missing), exists: missing.length === 0, folder, access }
    })
  }

  /** An agent without given folders works in the project itself, on the disk of its database. */
  #filesFor({ folders = [] }: Reach): Files {
    return folders.length === 0 ? this.#ports.ownFiles : this.#files
  }

  async closedPaths(reach: Reach): Promise<string[]> {
    const areas = await areasOf(this.#files, reach)
    return (await Promise.all(areas.map(area => searchArea(this.#files, area, this.#root)))).flatMap(
      each => each.closed,
    )
  }
}

/** Returns whether a path, relative to a folder within reach, leads into `.git`. */
function isOfGit(path: string): boolean {
  return path.split('/').some(name => GIT.test(name))
}

/**
 * An open folder within reach. Paths through it stay inside, whatever is renamed or linked meanwhile: on Linux, names
 * are resolved from the open folder itself; elsewhere, from its real path, which is checked when it is opened.
 */
class Folder implements JailFolder {
  readonly path: string
  readonly area: Area
  readonly #files: Files
  readonly #areas: readonly Area[]
  readonly #handle: FileHandle

  private constructor(files: Files, areas: readonly Area[], area: Area, path: string, handle: FileHandle) {
    this.#files = files
    this.#areas = areas
    this.area = area
    this.path = path
    this.#handle = handle
  }

  /** Opens a folder. @throws OutsideError when it is not within reach, PathError when it is closed */
  static async open(files: Files, areas: readonly Area[], path: string, shownPath: string): Promise<Folder> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = files.constants
    const handle = await files.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    try {
      const real = LINUX ? await files.readlink(`/proc/self/fd/${handle.fd}`) : await files.realpath(path)
      const same = LINUX || (await handle.stat()).ino === (await files.stat(real)).ino
      const area = areaOf(areas, real)
      if (!same || !area) throw new OutsideError({ path: shownPath })
      await refuseClosed(files, area, real, shownPath)
      return new Folder(files, areas, area, real, handle)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Returns the path of an entry, valid while the folder is open. */
  at(name: string): string {
    return LINUX ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.path, name)
  }

  /** Opens the subfolder of this name; a link is not followed. */
  below(name: string, shownPath: string): Promise<Folder> {
    return Folder.open(this.#files, this.#areas, this.at(name), shownPath)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

/** Opens a regular file for reading; links are followed as long as they stay within reach. The caller closes it. */
function openInside(files: Files, reach: Reach, path: string): Promise<FileHandle> {
  return withTarget(path, async () => {
    const { areas, area, real, missing } = await locate(files, reach, path)
    if (missing.length > 0) throw new PathError({ path, problem: PROBLEMS.ENOENT! })
    if (real === area.path) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
    const folder = await Folder.open(files, areas, dirname(real), path)
    try {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = files.constants
      // Without O_NONBLOCK, opening a pipe would wait for its other end.
      const handle = await files.open(folder.at(basename(real)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        refuseSpecial(await handle.stat(), folder.area, path)
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

/** Opens a folder; creates the agent's own folder first. The caller closes it. */
function openFolder(files: Files, reach: Reach, path: string): Promise<Folder> {
  return withTarget(path, async () => {
    await makeOwn(files, reach)
    const { areas, real, missing } = await locate(files, reach, path)
    if (missing.length > 0) throw new PathError({ path, problem: PROBLEMS.ENOENT! })
    return Folder.open(files, areas, real, path)
  })
}

/**
 * Replaces a whole file, or creates it and its folders: writes a temporary file, flushes it and renames it. Permissions
 * are kept; a reader sees either the old or the new bytes.
 * @param beside unused name for the temporary file
 * @param rename gives the temporary file its final name
 */
function replaceInside(
  files: Files,
  reach: Reach,
  path: string,
  bytes: Uint8Array,
  beside: string,
  rename: Rename,
): Promise<void> {
  return withTarget(path, async () => {
    if (/\/\.?$/.test(path)) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
    await makeOwn(files, reach)
    const { areas, area, real, missing } = await locate(files, reach, path)
    if (real === area.path && missing.length === 0) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
    if (isOfGit(relative(area.path, join(real, ...missing)))) {
      throw new PathError({ path, problem: 'belongs to git; change it only with the git tools' })
    }
    const name = missing.at(-1) ?? basename(real)
    const start = missing.length > 0 ? real : dirname(real)
    const opened = writable(await Folder.open(files, areas, start, path), reach, path)
    const folder = await makeFolders(files, await opened, missing.slice(0, -1), reach, path)
    try {
      await replaceIn(files, folder, name, path, bytes, beside, rename)
    } finally {
      await folder.close()
    }
  })
}

/** Returns the folder if it is writable, else closes it. @throws ReadOnlyError */
async function writable(folder: Folder, reach: Reach, path: string): Promise<Folder> {
  if (folder.area.access === 'read-write') return folder
  await folder.close()
  throw new ReadOnlyError({ path, folder: folder.area.path, reach })
}

function makeOwn(files: Files, { workspace, scratch = workspace }: Reach): Promise<unknown> {
  return files.mkdir(scratch, { recursive: true, mode: OWN_MODES.folder })
}

function modesIn({ own }: Area) {
  return own ? OWN_MODES : GIVEN_MODES
}

async function makeFolders(
  files: Files,
  start: Folder,
  names: readonly string[],
  reach: Reach,
  path: string,
): Promise<Folder> {
  let folder = start
  for (const name of names) {
    try {
      await files.mkdir(folder.at(name), modesIn(folder.area).folder).catch(unlessCode('EEXIST'))
      const next = await writable(await folder.below(name, path), reach, path)
      await folder.close()
      folder = next
    } catch (error) {
      await folder.close()
      throw error
    }
  }
  return folder
}

type Rename = (folder: Folder, name: string) => Promise<void>

async function replaceIn(
  files: Files,
  folder: Folder,
  name: string,
  path: string,
  bytes: Uint8Array,
  beside: string,
  rename: Rename,
) {
  const old = await files.lstat(folder.at(name)).catch(unlessCode('ENOENT'))
  if (old) refuseSpecial(old, folder.area, path)
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = files.constants
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
  const handle = await files.open(folder.at(beside), flags, modesIn(folder.area).file)
  try {
    try {
      await handle.writeFile(bytes)
      if (old) await handle.chmod(old.mode & 0o777)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(folder, name)
  } catch (error) {
    await files.rm(folder.at(beside), { force: true })
    throw error
  }
}

/** Opens the present file, if any, and passes it to a check. @throws what the check throws */
async function checkCurrent(files: Files, folder: Folder, name: string, path: string, check: ReplaceCheck) {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = files.constants
  const current = await files.open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(unlessCode('ENOENT'))
  try {
    if (current) refuseSpecial(await current.stat(), folder.area, path)
    await check(current, join(folder.path, name))
  } finally {
    await current?.close()
  }
}

/**
 * Refuses all but regular files, and in the agent's own folder also files with several hard links, because another link
 * may be outside. In the operator's folders hard links are allowed, because package managers create them.
 */
function refuseSpecial(stats: Awaited<ReturnType<Files['lstat']>>, { own }: Area, path: string): void {
  if (stats.isDirectory()) throw new PathError({ path, problem: PROBLEMS.EISDIR! })
  if (!stats.isFile()) throw new PathError({ path, problem: PROBLEMS.ENXIO! })
  if (own && stats.nlink > 1) {
    throw new PathError({ path, problem: 'is a hard link, which may lead out of your workspace; use another file' })
  }
}

/** Resolves a path: the real path of the part that exists, and the names below that do not exist yet. */
async function locate(files: Files, reach: Reach, path: string) {
  refuseSpelling(path)
  const areas = await areasOf(files, reach)
  const { workspace, scratch = workspace, folders: given = [] } = reach
  const full = resolve(workspace, path)
  const folders = [...given.map(folder => folder.path), resolve(scratch), ...areas.map(area => area.path)]
  if (!folders.some(folder => isInside(full, folder))) throw new OutsideError({ path })
  const missing: string[] = []
  for (let at = full; ; at = dirname(at)) {
    const real = await files.realpath(at).catch(unlessCode('ENOENT', 'ENOTDIR'))
    if (real === undefined) {
      missing.unshift(basename(at))
      continue
    }
    const area = areaOf(areas, real)
    if (!area) {
      const isThere = areas.some(({ given }) => isInside(full, given))
      const gone = isThere ? undefined : folders.find(folder => isInside(full, folder))
      if (gone === undefined) throw new OutsideError({ path })
      const problem = gone === resolve(scratch) ? 'your workspace is still empty' : `the folder ${gone} is gone`
      throw new PathError({ path, problem: `does not exist: ${problem}` })
    }
    await refuseClosed(files, area, join(real, ...missing), path)
    return { areas, area, real, missing }
  }
}

function refuseSpelling(path: string): void {
  const refuse = (problem: string): never => {
    throw new PathError({ path: path.slice(0, 200), problem })
  }
  if (/\p{Cc}/u.test(path)) refuse('contains control characters; remove them')
  if (path.includes('\\')) refuse('contains a backslash; separate folders with "/"')
  if (/^~/.test(path)) refuse('begins with "~", which is not supported; write a path relative to your workspace')
  if (path.length > 4096) refuse('is longer than 4,096 characters')
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'does not exist; list_dir shows what there is',
  ENOTDIR: 'is not a folder of your workspace, or a part of the path is not a folder',
  EISDIR: 'is a folder, not a file; list_dir shows what is in it',
  ENXIO: 'is not a regular file',
  ELOOP: 'is a symbolic link that cannot be followed',
  EACCES: 'cannot be accessed: its permissions do not allow it',
  EPERM: 'cannot be accessed: its permissions do not allow it',
  EROFS: 'cannot be written: the disk is read-only',
  ENOSPC: 'could not be written: the disk is full',
  EDQUOT: 'could not be written: the disk is full',
  ENAMETOOLONG: 'holds a name that is too long (255 bytes at most)',
  EMFILE: 'cannot be opened now, since too many files are open; try again later',
  ENFILE: 'cannot be opened now, since too many files are open; try again later',
}

/** Converts system errors to messages in words; the system's own would show paths that mean nothing to the reader. */
async function withTarget<R>(path: string, work: () => Promise<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (!code || !('syscall' in (error as object))) throw error
    throw new PathError({ path, problem: PROBLEMS[code] ?? `could not be used (${code})` }, { cause: error })
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
