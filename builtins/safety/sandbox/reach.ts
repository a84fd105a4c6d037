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

/** Names of folders that control what a project's daemon runs: `.svc` and the ones beside it. */
const STATE = '.svc'
const CLOSED = ['plugins', 'profiles', 'logs']

/** Returns the existing folders within reach, deepest first, because the deepest one decides about a path. */
export async function areasOf(files: Files, { workspace, scratch = workspace, folders = [] }: Reach): Promise<Area[]> {
  const own: Area = { path: scratch, given: resolve(scratch), access: 'read-write', own: true }
  const found = await Promise.all(
    [...folders.map(folder => ({ ...folder, given: folder.path, own: false })), own].map(async area => {
      const real = await files.realpath(area.path).catch(unlessMissing)
      return real === undefined ? [] : [{ ...area, path: real }]
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
      problem: `lies in a folder that is closed to you: ${STATE}, ${CLOSED.join(', ')} of a svc project`,
    })
  }
}

/** Returns whether a real path is, or lies in, a closed folder of a project. */
export async function isClosed(files: Files, real: string): Promise<boolean> {
  for (let at = real; at !== dirname(at); at = dirname(at)) {
    const name = at.slice(dirname(at).length).replace(/^\//, '').toLowerCase()
    if (name === STATE) return true
    if (CLOSED.includes(name) && (await isFolder(files, join(dirname(at), STATE)))) return true
  }
  return false
}

/** Maximum number of folders searched for projects; the deepest ones are left out. */
const MAX_SEARCHED = 2_000
/** Large folders with third-party files, which are not searched. */
const SKIPPED = ['node_modules', '.git']

/** Returns the real paths of closed folders in an area, which programs must not see. */
export async function findClosedPaths(files: Files, area: Area): Promise<string[]> {
  if (area.own || area.purpose !== undefined) return []
  const found: string[] = []
  const queue = [area.path]
  for (let searched = 0; searched < Math.min(queue.length, MAX_SEARCHED); searched++) {
    const folder = queue[searched]!
    const entries = await files.readdir(folder, { withFileTypes: true }).catch(() => [])
    const isProject = entries.some(entry => entry.name === STATE)
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.name === STATE || (isProject && CLOSED.includes(entry.name))) found.push(path)
      else if (entry.isDirectory() && !SKIPPED.includes(entry.name)) queue.push(path)
    }
  }
  const real = await Promise.all(found.map(path => files.realpath(path).catch(() => undefined)))
  return real.filter(path => path !== undefined && isInside(path, area.path)) as string[]
}

async function isFolder(files: Files, path: string): Promise<boolean> {
  return (await files.stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Returns whether a path is `folder` or lies below it; both are absolute. */
export function isInside(path: string, folder: string): boolean {
  const below = relative(folder, path)
  return below !== '..' && !below.startsWith('../') && !isAbsolute(below)
}
