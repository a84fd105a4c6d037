import { dirname, join } from 'node:path'
import type { Ports } from '#kernel'
import { succeeds } from '#lib/succeeds'
import { type Area, areaOf, type Guarded, isInside } from './reach.ts'

/** System folders that programs need, mounted read-only. Missing ones are skipped. */
const SYSTEM = ['/usr', '/opt', '/nix/store', '/gnu/store', '/run/current-system/sw']
/** Links to folders in `/usr` on most machines, real folders on some. */
const ROOTS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Files of `/etc` that programs need, listed singly because the folder also holds keys. */
const SETTINGS = [
  'alternatives',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'timezone',
  'passwd',
  'group',
  'nsswitch.conf',
  'mime.types',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ca-certificates',
  'pki/tls/certs',
].map(name => `/etc/${name}`)
const NETWORK = ['hosts', 'resolv.conf', 'host.conf', 'gai.conf', 'services', 'protocols'].map(name => `/etc/${name}`)

export interface Wall {
  /** The folders within reach, with their real paths. */
  areas: readonly Area[]
  /** What programs must not use or change in these folders, in the same order. */
  guarded: readonly Guarded[]
  cwd: string
  network: boolean
  read: readonly string[]
  write: readonly string[]
}

/**
 * Returns the bubblewrap command for a program: new namespaces for users, processes, network and the rest, no
 * capabilities, and an empty file system with only the system's programs and the folders within reach. No deny list is
 * needed, because our other files, sockets and processes are not visible.
 */
export async function sandboxArguments(
  files: Ports['files'],
  { areas, guarded, cwd, network, read, write }: Wall,
): Promise<string[]> {
  const roots = await Promise.all(
    ROOTS.map(async path => {
      const target = await files.readlink(path).catch(() => undefined)
      return target === undefined ? ['--ro-bind-try', path, path] : ['--symlink', target, path]
    }),
  )
  const readable = [...SYSTEM, ...SETTINGS, ...(network ? NETWORK : []), ...read]
  const mounts = await Promise.all(areas.map((area, n) => mountsOf(files, areas, area, guarded[n]!)))
  return [
    '--unshare-user',
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    '--cap-drop',
    'ALL',
    '--hostname',
    'sandbox',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    ...roots.flat(),
    ...readable.flatMap(path => ['--ro-bind-try', path, path]),
    ...write.flatMap(path => ['--bind-try', path, path]),
    // A mount of a folder hides those below it, so the deeper ones follow. The agent's own folder may lie in a closed one.
    ...mounts
      .flat()
      .sort((a, b) => a.at.length - b.at.length)
      .flatMap(({ args }) => args),
    // Prevents the program from creating files at paths outside the mounted folders.
    '--remount-ro',
    '/',
    '--chdir',
    cwd,
    '--',
  ]
}

interface Mount {
  at: string
  args: readonly string[]
}

/** Returns the mounts of an area: the area itself, and what is protected in it. */
async function mountsOf(
  files: Ports['files'],
  areas: readonly Area[],
  area: Area,
  { closed, missing, repositories }: Guarded,
): Promise<Mount[]> {
  const { path, access } = area
  const isWritable = access === 'read-write'
  const isOfArea = (at: string) => areaOf(areas, at) === area
  const covers = await Promise.all(closed.filter(isOfArea).map(at => cover(files, at)))
  const outer: Mount = { at: path, args: [isWritable ? '--bind' : '--ro-bind', path, path] }
  if (!isWritable) return [outer, ...covers]
  const kept = (await Promise.all(repositories.filter(isOfArea).map(git => repository(files, git)))).flat()
  const hidden = await Promise.all(missing.filter(isOfArea).map(at => hide(files, at)))
  const inside = [...covers, ...hidden, ...kept]
  const inner = areas.filter(other => other !== area && isInside(other.path, path))
  // Each folder above these is a mount of its own, so that it cannot be renamed, and what is below it replaced.
  const above = new Set(
    [...inside.map(({ at }) => at), ...inner.map(other => other.path)].flatMap(at => between(path, at)),
  )
  const pins = [...above].filter(isOfArea).map((at): Mount => ({ at, args: ['--bind', at, at] }))
  return [outer, ...pins, ...inside]
}

/** Returns the folders above a path that lie below an area. */
function between(area: string, path: string): string[] {
  const above: string[] = []
  for (let at = dirname(path); at !== area && isInside(at, area); at = dirname(at)) above.push(at)
  return above
}

/** What makes git run programs, read other settings or use another repository. */
const GIT_FILES = ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir']
/** Maximum number of folders searched for submodules and worktrees of one repository. */
const MAX_SEARCHED = 2_000

/** Returns mounts that protect a repository's settings and hooks: git runs them later with the operator's rights. */
async function repository(files: Ports['files'], git: string): Promise<Mount[]> {
  const readOnly = (at: string): Mount => ({ at, args: ['--ro-bind-try', at, at] })
  const found = await files.lstat(git).catch(() => undefined)
  if (!found?.isDirectory()) return found ? [readOnly(git)] : []
  const mounts: Mount[] = []
  for (const folder of await gitFolders(files, git)) {
    const names: string[] = await files.readdir(folder).catch(() => [])
    mounts.push(...GIT_FILES.filter(name => names.includes(name)).map(name => readOnly(join(folder, name))))
    const hooks = join(folder, 'hooks')
    if (names.includes('objects') && !names.includes('hooks'))
      mounts.push({ at: hooks, args: ['--tmpfs', hooks, '--remount-ro', hooks] })
  }
  return mounts
}

/**
 * Returns the files, absent now, by which a program could make git use other settings. No mount prevents that they are
 * created, so they are removed when the program has ended.
 */
export async function absentRedirects(files: Ports['files'], guarded: readonly Guarded[]): Promise<string[]> {
  const repositories = guarded.flatMap(each => each.repositories)
  const folders = (await Promise.all(repositories.map(git => gitFolders(files, git)))).flat()
  const paths = folders.map(folder => join(folder, 'commondir'))
  const isThere = await Promise.all(paths.map(path => succeeds(files.lstat(path))))
  return paths.filter((_, n) => !isThere[n])
}

/** Returns a repository's `.git`, and the folders of its worktrees and submodules in it. */
async function gitFolders(files: Ports['files'], git: string): Promise<string[]> {
  const found = [git]
  const queue = [join(git, 'worktrees'), join(git, 'modules')]
  for (let n = 0; n < Math.min(queue.length, MAX_SEARCHED); n++) {
    const entries = await files.readdir(queue[n]!, { withFileTypes: true }).catch(() => [])
    // The name of a submodule may contain slashes, so that its folder lies deeper.
    if (entries.some(entry => entry.name === 'HEAD')) {
      found.push(queue[n]!)
      queue.push(join(queue[n]!, 'modules'))
    } else queue.push(...entries.filter(entry => entry.isDirectory()).map(entry => join(queue[n]!, entry.name)))
  }
  return found
}

/** Returns the mount that covers a closed path with an empty folder or file. */
async function cover(files: Ports['files'], at: string): Promise<Mount> {
  const isFolder = (await files.stat(at).catch(() => undefined))?.isDirectory() ?? true
  return { at, args: isFolder ? ['--tmpfs', at] : ['--ro-bind', '/dev/null', at] }
}

/** Returns the mount that keeps a program from creating a closed path; its empty folder or file stays. */
async function hide(files: Ports['files'], at: string): Promise<Mount> {
  // bubblewrap would create a file that its owner cannot edit.
  if (at.endsWith('.yaml')) await files.writeFile(at, '', { flag: 'wx' }).catch(() => {})
  else await files.mkdir(at).catch(() => {})
  return cover(files, at)
}

/** Returns whether a program is in a system folder, which the sandbox shows anyway. */
export function isOfSystem(path: string): boolean {
  return [...SYSTEM, ...ROOTS].some(root => path.startsWith(`${root}/`))
}
