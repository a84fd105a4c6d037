import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { unlessMissing } from '#lib/unless-code'
import { type GivenFolder, PathError, type Reach } from './contract.ts'

type Files = Ports['files']

/** A folder within reach of an agent, with its real path. */
export interface Area extends GivenFolder {
  /** Path as given, before links were resolved. */
  given: string
  /** Whether this is the agent's own folder in the project, not one from the operator. */
  own: boolean
}

/** Names of what controls what a project's daemon runs: `.svc`, and the folders and the file beside it. */
const STATE = '.svc'
const PLUGINS = 'plugins'
const CLOSED = [PLUGINS, 'profiles', 'skills', '.agents', 'logs', 'models.yaml']

/**
 * Returns the existing folders within reach, deepest first, because the deepest one decides about a path. Folders are
 * given by their real path: one that leads elsewhere now was replaced by a link, perhaps by an agent, and is left out.
 */
export async function areasOf(files: Files, { workspace, scratch = workspace, folders = [] }: Reach): Promise<Area[]> {
  const own: Area = { path: scratch, given: resolve(scratch), access: 'read-write', own: true }
  const found = await Promise.all(
    [...folders.map(folder => ({ ...folder, given: folder.path, own: false })), own].map(async area => {
      const real = await files.realpath(area.path).catch(unlessMissing)
      return real === undefined || !(area.own || real === resolve(area.path)) ? [] : [{ ...area, path: real }]
    }),
  )
  return found.flat().sort((a, b) => b.path.length - a.path.length)
}

/** Returns the area that contains a real path. */
export function areaOf(areas: readonly Area[], real: string): Area | undefined {
  return areas.find(area => isInside(real, area.path))
}

/** Refuses closed paths in folders from the operator. @throws PathError */
export async function refuseClosed(files: Files, area: Area, real: string, path: string): Promise<void> {
  if (!area.own && area.purpose !== 'worktree' && (await isClosed(files, real))) {
    throw new PathError({
      path,
      problem: `is closed to you, as are ${STATE}, ${CLOSED.join(', ')} of each svc project`,
    })
  }
}

/** Returns whether a real path is, or lies in, what a project has closed. */
export async function isClosed(files: Files, real: string): Promise<boolean> {
  for (let at = real; at !== dirname(at); at = dirname(at)) {
    const name = at.slice(dirname(at).length).replace(/^\//, '').toLowerCase()
    if (name === STATE) return true
    if (CLOSED.includes(name) && (await isFolder(files, join(dirname(at), STATE)))) return true
  }
  return false
}

/** Maximum number of folders searched for projects and repositories; if there are more, the newest are left out. */
const MAX_SEARCHED = 2_000
/** Maximum number of repositories that are protected in an area; each takes mounts, which cost time. */
const MAX_REPOSITORIES = 50
/** Large folders with third-party files, which are not searched. */
const SKIPPED = ['node_modules', '.git']

/** What programs must not use or change in a folder within reach. */
export interface Guarded {
  /** Real paths of closed files and folders. */
  closed: string[]
  /** Closed paths that do not exist yet: all of the service's own project, and folders of plugins. */
  missing: string[]
  /** Each `.git`, a folder or a file. */
  repositories: string[]
}

/**
 * Searches an area for projects and repositories.
 * @param root the service's own project, which is found however many other folders there are
 */
export async function searchArea(files: Files, area: Area, root: string): Promise<Guarded> {
  const guarded: Guarded = { closed: [], missing: [], repositories: [] }
  if (area.own) return guarded
  const own = await files.realpath(root).catch(() => root)
  let queue: Queued[] = [...new Set([...(isInside(own, area.path) ? [own] : []), area.path])].map(path => ({ path }))
  const found = new Set<string>()
  for (let left = MAX_SEARCHED; left > 0 && queue.length > 0; left--) {
    const folder = queue.shift()!.path
    const entries = await files.readdir(folder, { withFileTypes: true }).catch(() => [])
    const isProject = area.purpose === undefined && entries.some(entry => entry.name === STATE)
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.name === '.git' && !entry.isSymbolicLink()) guarded.repositories.push(path)
      if (isProject && [STATE, ...CLOSED].includes(entry.name)) found.add(path)
      else if (entry.isDirectory() && !SKIPPED.includes(entry.name) && path !== own) queue.push({ path })
    }
    if (queue.length >= left) queue = await oldestFirst(files, queue, left - 1)
    const missing = (folder === own ? CLOSED : [PLUGINS]).filter(name => !entries.some(each => each.name === name))
    if (isProject) guarded.missing.push(...missing.map(name => join(folder, name)))
  }
  const real = await Promise.all([...found].map(path => files.realpath(path).catch(() => path)))
  guarded.closed = real.filter(path => isInside(path, area.path))
  guarded.repositories = await oldestOf(files, area, guarded.repositories)
  return guarded
}

/** A folder to search, with the time at which it was created once that is known. */
interface Queued {
  path: string
  born?: number
}

/** Returns the oldest folders, oldest first: those that an agent creates cannot take their place. */
async function oldestFirst(files: Files, queue: readonly Queued[], most: number): Promise<Queued[]> {
  const dated = await Promise.all(
    queue.map(async ({ path, born }) => ({ path, born: born ?? (await bornAt(files, path)) })),
  )
  return dated.sort((a, b) => a.born - b.born).slice(0, most)
}

async function bornAt(files: Files, path: string): Promise<number> {
  return (await files.lstat(path).catch(() => undefined))?.birthtimeMs ?? Number.POSITIVE_INFINITY
}

/** Returns the area's own repository and the oldest ones. */
async function oldestOf(files: Files, area: Area, repositories: readonly string[]): Promise<string[]> {
  if (repositories.length <= MAX_REPOSITORIES) return [...repositories]
  const queue = repositories.map(path => (dirname(path) === area.path ? { path, born: 0 } : { path }))
  return (await oldestFirst(files, queue, MAX_REPOSITORIES)).map(({ path }) => path)
}

async function isFolder(files: Files, path: string): Promise<boolean> {
  return (await files.stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Returns whether a path is `folder` or lies below it; both are absolute. */
export function isInside(path: string, folder: string): boolean {
  const below = relative(folder, path)
  return below !== '..' && !below.startsWith('../') && !isAbsolute(below)
}
