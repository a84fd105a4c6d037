import { join } from 'node:path'
import type { Ports } from '#kernel'
import type { Area } from './reach.ts'

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
  /** Closed paths in these folders, which programs must not see. */
  closed: readonly string[]
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
    ...given.flatMap(({ path, access }) => [access === 'read-write' ? '--bind' : '--ro-bind', path, path]),
    ...(await Promise.all(given.map(area => repository(files, area)))).flat(),
    ...(await Promise.all(closed.map(path => coveredPaths(files, path)))).flat(),
    // Mounted after the covers, because the agent's own folder and worktree may lie in the closed `.svc` of a given
    // project.
    ...own.flatMap(({ path }) => ['--bind', path, path]),
    ...(await Promise.all(own.filter(area => !area.own).map(area => repository(files, area)))).flat(),
    // Prevents the program from creating files at paths outside the mounted folders.
    '--remount-ro',
    '/',
    '--chdir',
    cwd,
    '--',
  ]
}

/** Returns mounts that protect a repository's settings and hooks: git runs them later with the operator's rights. */
async function repository(files: Ports['files'], { path, access }: Area): Promise<string[]> {
  const git = join(path, '.git')
  const found = await files.lstat(git).catch(() => undefined)
  if (access !== 'read-write' || !found?.isDirectory()) return []
  // A mount of its own, so that `.git` cannot be renamed and replaced.
  const kept = ['config', 'hooks'].flatMap(name => ['--ro-bind-try', join(git, name), join(git, name)])
  return ['--bind', git, git, ...kept]
}

/** Returns mounts that cover a closed path with an empty folder or file. */
async function coveredPaths(files: Ports['files'], path: string): Promise<string[]> {
  const found = await files.stat(path).catch(() => undefined)
  if (!found) return []
  return found.isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}

/** Returns whether a program is in a system folder, which the sandbox shows anyway. */
export function isOfSystem(path: string): boolean {
  return [...SYSTEM, ...ROOTS].some(root => path.startsWith(`${root}/`))
}
