import { hostname } from 'node:os'
import { defineError, type Ports } from '#kernel'
import { identityOf } from '#lib/identity'

/** How long to wait for whoever holds a lock, in milliseconds. What is done under one takes a few. */
const LIMIT_MS = 10_000
/** A lock whose holder cannot be judged from here (another machine, an empty file) is over after this long, in milliseconds. */
const STRANGE_AGE_MS = 5_000

export type LockPorts = Pick<Ports, 'files' | 'clock' | 'spawn'>

interface LockHolder {
  pid: number
  /** What tells its process from a later one with the same PID. */
  process: string
  /** Where its PID means something: the machine, and on Linux the namespace. */
  place: string
}

export const FileLockedError = defineError({
  code: 'file_locked',
  status: 503,
  title: 'File locked',
  sentence: (p: { file: string; by: string }) =>
    `${p.file} has been held by ${p.by} for more than ${LIMIT_MS / 1000} s; try again, or remove it if nobody writes.`,
})

/**
 * Takes a lock between processes: a link that only one of them can create, and that names its holder from the first; a file where
 * the file system has no links. One whose holder was killed is taken away, by
 * one process at a time, which holds a lock for that in turn; so nobody ever takes away the lock of a living one.
 * @returns the release
 * @throws FileLockedError after 10 s
 */
export async function lockFile(path: string, ports: LockPorts): Promise<() => Promise<void>> {
  const { files, clock } = ports
  const self = await selfOf(ports)
  const { place } = self
  let began = clock.monotonic()
  for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
    if (await create(files, path, JSON.stringify(self))) return () => files.rm(path, { force: true })
    const found = await look(path, place, ports)
    if (found === 'gone') continue
    if (found === 'over') {
      const release = await lockFile(`${path}.break`, ports)
      try {
        if ((await look(path, place, ports)) === 'over') await files.rm(path, { force: true })
      } finally {
        await release()
      }
      // The time that the dead took is nobody's: whoever holds it next may be as dead.
      began = clock.monotonic()
      continue
    }
    if (clock.monotonic() - began > LIMIT_MS) throw new FileLockedError({ file: path, by: found }, { retryAfter: 1 })
    await clock.sleep(pause)
  }
}

/** What never changes in a process, by its files: looked up once. */
const selves = new WeakMap<Ports['files'], Promise<LockHolder>>()

function selfOf(ports: LockPorts): Promise<LockHolder> {
  const { files } = ports
  let self = selves.get(files)
  if (!self) {
    self = Promise.all([identityOf(ports, process.pid), placeOf(files)]).then(([identity, place]) => ({
      ...{ pid: process.pid, process: identity ?? '', place },
    }))
    selves.set(files, self)
    self.catch(() => selves.delete(files))
  }
  return self
}

/** What file systems say that have no links, and Windows to those who may not make them. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

async function create(files: Ports['files'], path: string, text: string): Promise<boolean> {
  try {
    // It points nowhere: what it says is there at once, where a file of one that is killed meanwhile is empty.
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

/** Who holds a lock: in words while it counts, else whether the lock is gone or its holder is. */
async function look(path: string, place: string, ports: LockPorts): Promise<'gone' | 'over' | `${string} ${string}`> {
  const { files, clock } = ports
  try {
    const holder = parse(await read(files, path))
    if (holder?.place === place) {
      return (await identityOf(ports, holder.pid)) === holder.process ? `process ${holder.pid}` : 'over'
    }
    const { mtimeMs } = await files.lstat(path)
    return clock.ms() - mtimeMs > STRANGE_AGE_MS ? 'over' : 'another machine'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone'
    throw error
  }
}

/** undefined for a file that its writer has not filled yet, or never will. */
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
