import { hostname } from 'node:os'
import { defineError, type Ports } from '#kernel'
import { identityOf } from '#lib/identity'
import { unlessMissing } from '#lib/unless-code'

/** Maximum time to wait for a lock, in milliseconds. Work under a lock takes a few. */
const LIMIT_MS = 10_000
/**
 * Age in milliseconds at which a lock counts as stale when its holder cannot be checked from here (another machine, an
 * empty file).
 */
const STRANGE_AGE_MS = 5_000

export type LockPorts = Pick<Ports, 'files' | 'clock' | 'spawn'>

/**
 * Content of a lock. At most 59 bytes, which ext4 stores in the inode of a link: a longer link takes a block of the
 * disk, and makes taking and releasing a lock twenty times as slow.
 */
interface LockHolder {
  pid: number
  /** Hash of the process identity, which differs for a later process with the same PID. */
  process: string
  /** Hash of the scope in which the PID is valid: the machine, and on Linux the namespace. */
  place: string
}

export const FileLockedError = defineError({
  code: 'file_locked',
  status: 503,
  title: 'File locked',
  message: (p: { file: string; by: string }) =>
    `The lock ${p.file} has been held by ${p.by} for more than ${LIMIT_MS / 1000} s; try again, or remove the lock if no process is writing.`,
})

/**
 * Takes a lock between processes. The lock is a symbolic link, which only one process can create and which names its
 * holder at once; a file where the file system has no links. Only one process at a time, under a second lock, removes
 * the lock of a killed process, so that the lock of a running process is never removed.
 * @returns the release
 * @throws FileLockedError after 10 s
 */
export async function lockFile(path: string, ports: LockPorts): Promise<() => Promise<void>> {
  const { files, clock } = ports
  const self = await selfOf(ports)
  const { place } = self
  let began = clock.monotonic()
  for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
    if (await create(files, path, JSON.stringify(self))) return () => files.unlink(path).catch(unlessMissing)
    const found = await look(path, place, ports)
    if (found === 'gone') continue
    if (found === 'over') {
      const release = await lockFile(`${path}.break`, ports)
      try {
        if ((await look(path, place, ports)) === 'over') await files.unlink(path).catch(unlessMissing)
      } finally {
        await release()
      }
      // Removing a stale lock does not count as waiting; the next holder may be dead too.
      began = clock.monotonic()
      continue
    }
    if (clock.monotonic() - began > LIMIT_MS) throw new FileLockedError({ file: path, by: found }, { retryAfter: 1 })
    await clock.sleep(pause)
  }
}

/** This process as a lock holder, by its files port; determined once. */
const selves = new WeakMap<Ports['files'], Promise<LockHolder>>()

function selfOf(ports: LockPorts): Promise<LockHolder> {
  const { files } = ports
  let self = selves.get(files)
  if (!self) {
    self = Promise.all([identityOf(ports, process.pid), placeOf(files)]).then(([identity, place]) => ({
      pid: process.pid,
      process: shortHash(identity ?? ''),
      place: shortHash(place),
    }))
    selves.set(files, self)
    self.catch(() => selves.delete(files))
  }
  return self
}

const shortHash = (text: string) =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('base64url').slice(0, 8)

/** Error codes of file systems without links, and of Windows for users who may not create them. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

async function create(files: Ports['files'], path: string, text: string): Promise<boolean> {
  try {
    // A link has its target at once; a file would be empty if its writer were killed.
    await files.symlink(text, path).catch(error => {
      if (!NO_LINKS.includes(error.code)) throw error
      return files.writeFile(path, text, { flag: 'wx', mode: 0o600 })
    })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function read(files: Ports['files'], path: string): Promise<string> {
  return files.readlink(path).catch(error => {
    if (error.code !== 'EINVAL') throw error
    return files.readFile(path, 'utf8')
  })
}

/** Returns the description of a lock's holder; `gone` without a lock, `over` for a stale one. */
async function look(path: string, place: string, ports: LockPorts): Promise<'gone' | 'over' | `${string} ${string}`> {
  const { files, clock } = ports
  try {
    const holder = parse(await read(files, path))
    if (holder?.place === place) {
      const identity = await identityOf(ports, holder.pid)
      return identity !== null && shortHash(identity) === holder.process ? `process ${holder.pid}` : 'over'
    }
    const { mtimeMs } = await files.lstat(path)
    return clock.ms() - mtimeMs > STRANGE_AGE_MS ? 'over' : 'another machine'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone'
    throw error
  }
}

/** Parses the content of a lock. Returns undefined for a file that its writer has not filled. */
function parse(text: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<LockHolder>
    const { pid, process, place } = holder
    return Number.isInteger(pid) && typeof process === 'string' && typeof place === 'string'
      ? (holder as LockHolder)
      : undefined
  } catch {
    return undefined
  }
}

async function placeOf(files: Ports['files']): Promise<string> {
  const namespace = await files.readlink('/proc/self/ns/pid').catch(() => '')
  return `${hostname()} ${namespace}`
}
