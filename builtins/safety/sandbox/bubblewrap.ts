import { dirname, join } from 'node:path'
import type { Ports } from '#kernel'
import { DiskFullError, isDiskFull } from '#lib/errors'
import { HELD } from '#lib/git'
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
  /** Programs that run now and may write in these folders. */
  running: Iterable<Running>
  cwd: string
  network: boolean
  read: readonly string[]
  write: readonly string[]
}

/** A running program. */
export interface Running {
  /** Folders in which it may write. */
  folders: readonly string[]
  /** Paths in these folders that it cannot replace. */
  kept: ReadonlySet<string>
  /** Files that are there only for its mounts. */
  temporary: readonly string[]
}

/**
 * Returns the bubblewrap command for a program: new namespaces for users, processes, network and the rest, no
 * capabilities, and an empty file system with only the system's programs and the folders within reach. No deny list is
 * needed, because our other files, sockets and processes are not visible. Also returns what is known of it while it runs.
 */
export async function sandboxArguments(
  files: Ports['files'],
  { areas, guarded, running, cwd, network, read, write }: Wall,
): Promise<{ args: string[]; program: Running }> {
  const roots = await Promise.all(
    ROOTS.map(async path => {
      const target = await files.readlink(path).catch(() => undefined)
      return target === undefined ? ['--ro-bind-try', path, path] : ['--symlink', target, path]
    }),
  )
  const readable = [...SYSTEM, ...SETTINGS, ...(network ? NETWORK : []), ...read]
  const found = (await Promise.all(areas.map((area, n) => mountsOf(files, areas, area, guarded[n]!)))).flat()
  // A program that runs could replace it by a link, and bubblewrap would mount what the link leads to.
  const mayReplace = (at: string) =>
    [...running].some(each => !each.kept.has(at) && each.folders.some(folder => isInside(at, folder)))
  const mounts = found.filter(({ at, keeps }) => !keeps || !mayReplace(at))
  // A mount of a folder hides those below it, so the deeper ones follow.
  const ordered = mounts.sort((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage) || a.at.length - b.at.length)
  const args = [
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
    ...ordered.flatMap(({ args }) => args),
    // Prevents the program from creating files at paths outside the mounted folders.
    '--remount-ro',
    '/',
    '--chdir',
    cwd,
    '--',
  ]
  const program = {
    folders: areas.filter(({ access }) => access === 'read-write').map(({ path }) => path),
    kept: new Set(mounts.filter(({ keeps }) => keeps).map(({ at }) => at)),
    temporary: found.filter(({ isTemporary }) => isTemporary).map(({ at }) => at),
  }
  return { args, program }
}

/**
 * Covers follow all that a program could have prepared. The agent's own folder and worktree follow them, because they
 * may lie in the closed `.svc` of a given project.
 */
const STAGES = ['given', 'cover', 'own'] as const

interface Mount {
  at: string
  stage: (typeof STAGES)[number]
  args: readonly string[]
  /** Whether it shows what is there, but lets no program move or replace it. */
  keeps?: boolean
  /** Whether the file is there only for the mount. */
  isTemporary?: boolean
}

/** Returns the mounts of an area: the area itself, and what is protected in it. */
async function mountsOf(
  files: Ports['files'],
  areas: readonly Area[],
  area: Area,
  { closed, missing, repositories }: Guarded,
): Promise<Mount[]> {
  const { path, access } = area
  const stage = area.own || area.purpose === 'worktree' ? 'own' : 'given'
  const isWritable = access === 'read-write'
  const isOfArea = (at: string) => areaOf(areas, at) === area
  const covers = await Promise.all(closed.filter(isOfArea).map(at => cover(files, at)))
  const outer: Mount = { at: path, stage, args: [isWritable ? '--bind' : '--ro-bind', path, path] }
  if (!isWritable) return [outer, ...covers]
  const kept = (await Promise.all(repositories.filter(isOfArea).map(git => repository(files, git, stage)))).flat()
  const hidden = await Promise.all(missing.filter(isOfArea).map(at => hide(files, at)))
  const inside = [...covers, ...hidden, ...kept]
  const inner = areas.filter(other => other !== area && isInside(other.path, path))
  // Each folder above these is a mount of its own, so that it cannot be renamed, and what is below it replaced.
  const above = new Set(
    [...inside.map(({ at }) => at), ...inner.map(other => other.path)].flatMap(at => between(path, at)),
  )
  const pins = [...above].filter(isOfArea).map((at): Mount => ({ at, stage, args: ['--bind', at, at], keeps: true }))
  return [outer, ...pins, ...inside]
}

/** Returns the folders above a path that lie below an area. */
function between(area: string, path: string): string[] {
  const above: string[] = []
  for (let at = dirname(path); at !== area && isInside(at, area); at = dirname(at)) above.push(at)
  return above
}

/** What makes git run programs, read other settings or use another repository. */
const GIT_FILES = ['config', 'hooks', 'gitdir']
/** Maximum number of folders searched for submodules and worktrees of one repository. */
const MAX_SEARCHED = 2_000

/**
 * Returns mounts that protect a repository's settings and hooks: git runs them later with the operator's rights. Links
 * are left out, because a mount would show what they lead to.
 */
async function repository(files: Ports['files'], git: string, stage: Mount['stage']): Promise<Mount[]> {
  const keep = (at: string): Mount => ({ at, stage, args: ['--ro-bind-try', at, at], keeps: true })
  const found = await files.lstat(git).catch(() => undefined)
  if (!found?.isDirectory()) return found?.isFile() ? [keep(git)] : []
  const mounts: Mount[] = []
  for (const folder of await gitFolders(files, git)) {
    const entries = await files.readdir(folder, { withFileTypes: true }).catch(() => [])
    const kept = entries.filter(entry => GIT_FILES.includes(entry.name) && !entry.isSymbolicLink())
    mounts.push(...kept.map(({ name }) => keep(join(folder, name))))
    const names = entries.map(({ name }) => name)
    const hooks = join(folder, 'hooks')
    if (names.includes('HEAD')) {
      const held = Object.entries(HELD).map(([name, content]) => hold(files, join(folder, name), content, keep))
      mounts.push(...(await Promise.all(held)).flat())
    }
    if (names.includes('objects') && !names.includes('hooks'))
      mounts.push({ at: hooks, stage, args: ['--tmpfs', hooks, '--remount-ro', hooks] })
  }
  return mounts
}

/**
 * Returns the mount of a file by which a program could make git use other settings. Where there is none, a mount needs a
 * file for as long as programs run.
 * @param content content of that file, which changes nothing
 */
async function hold(files: Ports['files'], at: string, content: string, keep: (at: string) => Mount): Promise<Mount[]> {
  await files.writeFile(at, content, { flag: 'wx' }).catch(async error => {
    if (!isDiskFull(error)) return
    // Git would fail on an empty file; without one, the program could make its own.
    await files.rm(at, { force: true })
    throw new DiskFullError({ what: dirname(at), next: '' })
  })
  const found = await files.lstat(at).catch(() => undefined)
  if (!found?.isFile()) return []
  const isOurs = found.size === content.length && (await files.readFile(at, 'utf8').catch(() => '')) === content
  return [{ ...keep(at), isTemporary: isOurs }]
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
      queue.push(join(queue[n]!, 'worktrees'), join(queue[n]!, 'modules'))
    } else queue.push(...entries.filter(entry => entry.isDirectory()).map(entry => join(queue[n]!, entry.name)))
  }
  return found
}

/** Returns the mount that covers a closed path with an empty folder or file. */
async function cover(files: Ports['files'], at: string): Promise<Mount> {
  const isFolder = (await files.stat(at).catch(() => undefined))?.isDirectory() ?? true
  return { at, stage: 'cover', args: isFolder ? ['--tmpfs', at] : ['--ro-bind', '/dev/null', at] }
}

/** Content of a file that only keeps its place. */
const PLACEHOLDER = '# svc made this file, so that no program of an agent can. It is yours to edit.\n'

/** Returns the mount that keeps a program from creating a closed path; its empty folder or file stays. */
async function hide(files: Ports['files'], at: string): Promise<Mount> {
  // bubblewrap would create a file that its owner cannot edit.
  if (at.endsWith('.yaml')) await files.writeFile(at, PLACEHOLDER, { flag: 'wx' }).catch(() => {})
  else await files.mkdir(at).catch(() => {})
  return cover(files, at)
}

/** Returns whether a program is in a system folder, which the sandbox shows anyway. */
export function isOfSystem(path: string): boolean {
  return [...SYSTEM, ...ROOTS].some(root => path.startsWith(`${root}/`))
}
