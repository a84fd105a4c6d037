import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TcpAddress } from '#interfaces/rest/contract'
import { errorMessage, type Ports } from '#kernel'
import { type CheckContext, type DoctorFinding, finding } from './contract.ts'

const { ok, warn, fail } = finding

/** Default port of `svc serve`. */
const PORT = 8000
const MIB = 1024 * 1024
/** Free disk space in MiB below which the service warns, and fails. */
const FREE_WARN = 1024
const FREE_FAIL = 100
/** Limits of open files and of watched folders below which a few dozen agents run out of them. */
const FILES_LEAST = 1024
const WATCHES_LEAST = 8192
const INSTANCES_ENOUGH = 1024
/** Maximum time by which files may be newer than now, in milliseconds; beyond it the clock was set back. */
const CLOCK_SLACK_MS = 60_000
/** Earliest plausible time, the year of the first release; an earlier one means that the clock was never set. */
const CLOCK_LEAST = Date.UTC(2025, 0, 1)
/** Files in `.svc/` that a start reads and writes; another user may have left some of them. */
const KEPT = ['config.yaml', 'svc.db', 'svc.db-wal', 'svc.db-shm', 'service.env', 'budget.json', 'daemon.json']

/** Quotes a path so that a shell takes it as one word. */
export function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

export function nodeVersion({ needsNode }: CheckContext): DoctorFinding {
  const numbers = (text: string) => text.replace(/^\D*/, '').split('.').map(Number)
  const [major = 0, minor = 0] = numbers(process.version)
  const [needsMajor = 0, needsMinor = 0] = numbers(needsNode)
  const enough = major > needsMajor || (major === needsMajor && minor >= needsMinor)
  if (enough) return ok(`Node ${process.version.slice(1)}`)
  return fail(
    `Node ${process.version.slice(1)} is too old: ${needsNode} is needed`,
    'install a newer one from nodejs.org',
  )
}

export async function nativeModule({ database, packageRoot }: CheckContext): Promise<DoctorFinding> {
  try {
    return ok(`SQLite ${await (await database()).engineVersion()}`)
  } catch (error) {
    const { cause = error } = error as Error
    const missing = /MODULE_NOT_FOUND/.test(String((cause as NodeJS.ErrnoException).code))
    const remedy = missing
      ? `reinstall svc, or only this module in the folder of svc: cd ${shellWord(packageRoot)} && npm install better-sqlite3`
      : `rebuild it, because it is broken or built for another Node or machine: cd ${shellWord(packageRoot)} && npm rebuild better-sqlite3`
    return fail(`SQLite's native module cannot be loaded: ${errorMessage(cause).split('\n')[0]}`, remedy)
  }
}

export async function permissions(root: string, { files }: Ports): Promise<DoctorFinding> {
  const svc = join(root, '.svc')
  const { R_OK, W_OK, X_OK } = files.constants
  const accessError = (path: string, mode: number) =>
    files.access(path, mode).then(
      () => undefined,
      ({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' ? undefined : code),
    )
  const own = `run svc as the user to whom it belongs, or take ownership: sudo chown -R "$USER" ${shellWord(svc)} && chmod -R u+rwX ${shellWord(svc)}`
  const blocked = await accessError(svc, R_OK | W_OK | X_OK)
  if (blocked === 'EROFS') return fail(`${svc} is on a file system that is read-only`, 'remount it for writing')
  if (blocked) return fail(`${svc} cannot be written by this user`, own)
  const wide: string[] = []
  for (const path of [svc, ...KEPT.map(name => join(svc, name))]) {
    if (await accessError(path, R_OK | W_OK)) {
      return fail(`${path} cannot be read and written by this user`, own)
    }
    const found = await files.stat(path).catch(() => undefined)
    if (found && (found.mode & 0o077) !== 0) wide.push(path)
  }
  if (wide.length === 0) return ok(`only its owner can access ${svc}`)
  const remedy = `remove their access, because it holds keys and transcripts: chmod go= ${wide.map(shellWord).join(' ')}`
  return warn(`Others on this machine may read ${wide.join(', ')}`, remedy)
}

export async function diskSpace(folder: string, { files }: Ports): Promise<DoctorFinding> {
  const { bavail, bsize, ffree, files: inodes } = await files.statfs(folder)
  const free = Math.floor((Number(bavail) * Number(bsize)) / MIB)
  const amount = free > 10 * 1024 ? `${Math.floor(free / 1024)} GiB free` : `${free} MiB free`
  const remedy =
    'free some space: remove old files of .svc/trash/, .svc/backups/ and logs/runs/, then: svc retention run'
  if (free < FREE_FAIL) return fail(`Only ${amount}`, remedy)
  // Some file systems have no fixed number of inodes, and report 0.
  if (Number(inodes) > 0 && Number(ffree) < 1000)
    return fail('The disk has almost no inodes left', 'remove small files')
  return free < FREE_WARN ? warn(`Only ${amount}`, remedy) : ok(amount)
}

export async function clock(root: string, { files, clock }: Ports): Promise<DoctorFinding> {
  const now = clock.ms()
  const svc = join(root, '.svc')
  const remedy = (file: string) =>
    `set the clock (timedatectl set-ntp true), or if it is right, run: touch ${shellWord(file)}; until the clock has caught up, schedules and leases wait`
  if (now < CLOCK_LEAST)
    return fail(`The clock is wrong: it shows ${clock.now().toISOString()}`, 'set it: timedatectl set-ntp true')
  for (const name of ['svc.db', 'svc.db-wal', 'daemon.json', 'config.yaml']) {
    const { mtimeMs } = await files.stat(join(svc, name)).catch(() => ({ mtimeMs: 0 }))
    const ahead = Math.round((mtimeMs - now) / 1000)
    if (ahead * 1000 > CLOCK_SLACK_MS) {
      return warn(
        `The clock was set back: ${join(svc, name)} was written ${ahead} s in the future`,
        remedy(join(svc, name)),
      )
    }
  }
  return ok(clock.now().toISOString())
}

export async function openFiles({ files }: Ports): Promise<DoctorFinding> {
  const text = await files.readFile('/proc/self/limits', 'utf8').catch(() => '')
  const [, limit] = /^Max open files\s+(\d+|unlimited)/m.exec(text) ?? []
  if (limit === undefined) return ok('this system does not report its limit on open files')
  if (limit === 'unlimited' || Number(limit) >= FILES_LEAST) return ok(`${limit} files may be open`)
  // Node has already raised its soft limit to the hard limit, so `ulimit` would not help.
  const enough = FILES_LEAST * 4
  return warn(
    `Only ${limit} files may be open`,
    `raise it in the shell that starts svc: sudo prlimit --pid $$ --nofile=${enough}:${enough}`,
  )
}

/** Checks whether a folder can be watched now; other programs of this user may have used up the limit. */
export async function watches({ files }: Ports, folder: string): Promise<DoctorFinding> {
  const stop = new AbortController()
  const watching = files.watch(folder, { signal: stop.signal })[Symbol.asyncIterator]().next()
  stop.abort()
  const { code } = await watching.then(
    () => ({ code: '' }),
    (error: NodeJS.ErrnoException) => error,
  )
  const unseen = 'until then only svc plugins reload notices plugin changes'
  if (code === 'EMFILE') {
    return warn(
      `No more folders can be watched: programs of this user use all watchers (fs.inotify.max_user_instances)`,
      `end some of them, or: sudo sysctl fs.inotify.max_user_instances=${INSTANCES_ENOUGH}; ${unseen}`,
    )
  }
  if (code === 'ENOSPC') {
    return warn(
      'No more files can be watched: programs of this user have reached the limit (fs.inotify.max_user_watches)',
      `end some of them, or: sudo sysctl fs.inotify.max_user_watches=${WATCHES_LEAST * 8}; ${unseen}`,
    )
  }
  const text = await files.readFile('/proc/sys/fs/inotify/max_user_watches', 'utf8').catch(() => '')
  const limit = Number(text.trim() || 'x')
  if (Number.isNaN(limit)) return ok('this system has no limit of watched files')
  if (limit >= WATCHES_LEAST) return ok(`${limit} files may be watched`)
  const remedy = `raise the limit, or plugin changes may go unnoticed: sudo sysctl fs.inotify.max_user_watches=${WATCHES_LEAST * 8}`
  return warn(`Only ${limit} files may be watched`, remedy)
}

/**
 * Checks whether the servers of this project answer. Without servers, checks whether the default port of `svc serve` is
 * free, as a server of any project may use it.
 */
export async function port(ports: Ports, servers: readonly TcpAddress[]): Promise<DoctorFinding> {
  const urls = [...new Set(servers.map(urlOf))]
  for (const url of urls) {
    if (await answers(url, ports)) continue
    const remedy = 'see svc logs; if it does not recover, restart it: svc restart, or svc serve'
    return warn(`This project's server does not answer at ${url}`, remedy)
  }
  if (urls.length > 0) return ok(`this project's server answers at ${urls.join(' and ')}`)
  if (await isFree(PORT)) return ok(`port ${PORT} is free`)
  if (await answers(`http://127.0.0.1:${PORT}`, ports)) return ok(`a server answers at port ${PORT}`)
  return warn(`Another program uses port ${PORT}, the default of svc serve`, 'use another port: svc serve --port 8001')
}

/** Returns the URL for requests to a server that may listen on all addresses. */
function urlOf({ host, port }: TcpAddress): string {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${own.includes(':') ? `[${own}]` : own}:${port}`
}

async function answers(url: string, { fetch, clock }: Ports): Promise<boolean> {
  const stop = new AbortController()
  const cancel = clock.after(1_000, () => stop.abort())
  const health = await fetch(`${url}/healthz`, { signal: stop.signal })
    .then(answer => answer.json() as Promise<{ status?: unknown }>)
    .catch(() => ({ status: undefined }))
    .finally(cancel)
  return health.status !== undefined
}

function isFree(number: number): Promise<boolean> {
  return new Promise(settle => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code !== 'EADDRINUSE'))
    server.listen({ host: '127.0.0.1', port: number, exclusive: true }, () => server.close(() => settle(true)))
  })
}
