import { join } from 'node:path'
import type { Ports } from '#kernel'
import type { Area } from './reach.ts'

/** What programs need of the machine, to read. What is missing is passed over. */
const SYSTEM = ['/usr', '/opt', '/nix/store', '/gnu/store', '/run/current-system/sw']
/** Links to folders of `/usr` on most machines, folders of their own on some. */
const ROOTS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Files of `/etc` that programs need; the folder also holds keys. */
const SETTINGS = [
  ...['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'timezone', 'passwd', 'group'],
  ...['nsswitch.conf', 'mime.types', 'ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs'],
].map(name => `/etc/${name}`)
const NETWORK = ['hosts', 'resolv.conf', 'host.conf', 'gai.conf', 'services', 'protocols'].map(name => `/etc/${name}`)

export interface Wall {
  /** The folders within reach, by their real paths. */
  areas: readonly Area[]
  /** Paths in them that programs must not see. */
  closed: readonly string[]
  cwd: string
  network: boolean
  read: readonly string[]
  write: readonly string[]
}

/**
 * The words that put bubblewrap before a program: namespaces of its own for users, processes, network and the rest, no
 * capabilities, an empty machine in which only the system's programs and the folders within reach can be seen. What sees no
 * file, socket or process of ours needs no list of what is forbidden.
 */
export async function sandboxArguments(
  files: Ports['files'],
  { areas, closed, cwd, network, read, write }: Wall,
): Promise<string[]> {
  const roots = await Promise.all(
    ROOTS.map(async path => {
      const target = await files.readlink(path).catch(() => undefined)
      return target === undefined ? ['--ro-bind-try', path, path] : ['--symlink', target, path]
    }),
  )
  const readable = [...SYSTEM, ...SETTINGS, ...(network ? NETWORK : []), ...read]
  const shallowFirst = areas.toReversed()
  const own = shallowFirst.filter(area => area.own || area.purpose === 'worktree')
  const given = shallowFirst.filter(area => !own.includes(area))
  return [
    ...['--unshare-user', '--unshare-all', ...(network ? ['--share-net'] : [])],
    ...['--die-with-parent', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...roots.flat(),
    ...readable.flatMap(path => ['--ro-bind-try', path, path]),
    ...write.flatMap(path => ['--bind-try', path, path]),
    ...given.flatMap(({ path, access }) => [access === 'read-write' ? '--bind' : '--ro-bind', path, path]),
    ...(await Promise.all(given.map(area => repository(files, area)))).flat(),
    ...(await Promise.all(closed.map(path => coveredPaths(files, path)))).flat(),
    // After what is covered: the agent's own folder and its worktree lie in the `.svc` of a project that may be given.
    ...own.flatMap(({ path }) => ['--bind', path, path]),
    ...(await Promise.all(own.filter(area => !area.own).map(area => repository(files, area)))).flat(),
    // A file of the agent's own must not be what we run or read by path.
    ...['--remount-ro', '/'],
    ...['--chdir', cwd, '--'],
  ]
}

/** Keeps the settings and hooks of a given repository: git runs them later with the operator's rights. */
async function repository(files: Ports['files'], { path, access }: Area): Promise<string[]> {
  const git = join(path, '.git')
  const found = await files.lstat(git).catch(() => undefined)
  if (access !== 'read-write' || !found?.isDirectory()) return []
  // As a mount of its own it cannot be renamed, and another put in its place.
  const kept = ['config', 'hooks'].flatMap(name => ['--ro-bind-try', join(git, name), join(git, name)])
  return ['--bind', git, git, ...kept]
}

/** An empty folder or file in the place of what is closed. */
async function coveredPaths(files: Ports['files'], path: string): Promise<string[]> {
  const found = await files.stat(path).catch(() => undefined)
  if (!found) return []
  return found.isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}

/** Where the system's programs are, so that only others have to be let in. */
export function isOfSystem(path: string): boolean {
  return [...SYSTEM, ...ROOTS].some(root => path.startsWith(`${root}/`))
}
