import type { Ports } from '#kernel'

/** What programs need of the machine, to read. What is missing is passed over. */
const SYSTEM = ['/usr', '/opt', '/nix/store', '/gnu/store', '/run/current-system/sw']
/** Links to folders of `/usr` on most machines, folders of their own on some. */
const ROOTS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Of `/etc` only what tells programs how the machine is set up: there are keys in that folder. */
const SETTINGS = [
  ...['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'timezone', 'passwd', 'group'],
  ...['nsswitch.conf', 'mime.types', 'ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs'],
].map(name => `/etc/${name}`)
const NETWORK = ['hosts', 'resolv.conf', 'host.conf', 'gai.conf', 'services', 'protocols'].map(name => `/etc/${name}`)

export interface Wall {
  workspace: string
  cwd: string
  network: boolean
  read: readonly string[]
  write: readonly string[]
}

/**
 * The words that put bubblewrap before a program: namespaces of its own for users, processes, network and the rest, no
 * capabilities, an empty machine in which only the system's programs can be read and only the workspace can be written.
 * Whoever sees no file, socket or process of ours needs no list of what is forbidden.
 */
export async function walled(files: Ports['files'], { workspace, cwd, network, read, write }: Wall): Promise<string[]> {
  const roots = await Promise.all(
    ROOTS.map(async path => {
      const target = await files.readlink(path).catch(() => undefined)
      return target === undefined ? ['--ro-bind-try', path, path] : ['--symlink', target, path]
    }),
  )
  const readable = [...SYSTEM, ...SETTINGS, ...(network ? NETWORK : []), ...read]
  return [
    ...['--unshare-user', '--unshare-all', ...(network ? ['--share-net'] : [])],
    ...['--die-with-parent', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...roots.flat(),
    ...readable.flatMap(path => ['--ro-bind-try', path, path]),
    ...write.flatMap(path => ['--bind-try', path, path]),
    ...['--bind', workspace, workspace],
    // A file of the agent's own must not be what we run or read by path.
    ...['--remount-ro', '/'],
    ...['--chdir', cwd, '--'],
  ]
}

/** Where the system's programs are, so that only others have to be let in. */
export function isOfSystem(path: string): boolean {
  return [...SYSTEM, ...ROOTS].some(root => path.startsWith(`${root}/`))
}
