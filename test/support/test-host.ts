import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Kernel, PluginDefinition, Ports, Role } from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { systemPorts } from '#lib/system-ports'
import { openKernel } from '../../embed/compose.ts'
import { importable } from '../../embed/importable.ts'
import { HeldClock } from './clock.ts'
import { TempDir, tempDir } from './temp.ts'

const DATABASE = join('.svc', 'svc.db')

export interface TestHostOptions {
  /** Plugins that start as builtins: modules of `svc`, or definitions of the test. */
  builtins?: readonly PluginDefinition[]
  /** Sources of plugin files, by file name below `plugins/`. */
  plugins?: Readonly<Record<string, string>>
  /** Further files, by path below the project's folder. */
  files?: Readonly<Record<string, string>>
  /** `.svc/config.yaml`, as its text or as values. */
  config?: string | Readonly<Record<string, unknown>>
  /** Default: `daemon`. */
  roles?: readonly Role[]
  /** The only environment variables that the test host sees. */
  env?: Readonly<Record<string, string>>
  /** Seed of random numbers and ids. Default: the seed of this test run. */
  seed?: number
  /** Default: a new held clock. `system` is the machine's clock. */
  clock?: HeldClock | 'system'
  ports?: Partial<Ports>
  /** Folder of an existing project, which is kept on close. Default: a temporary project. */
  root?: string
}

/** One line of the log. `level` is pino's: 30 is info, 40 warn, 50 error. */
export interface LogLine {
  level: number
  msg: string
  plugin?: string
  [field: string]: unknown
}

interface TestHostParts {
  kernel: Kernel
  dir: TempDir
  temporary: boolean
  clock: HeldClock | undefined
  seed: number
  log: readonly LogLine[]
  /** Removes the test host's own database. */
  drop?: (() => Promise<void>) | undefined
}

/** A kernel with chosen modules in a project of its own; the test controls its time and randomness and reads its log. */
export class TestHost {
  readonly kernel: Kernel
  /** The project's folder. */
  readonly root: string
  readonly seed: number
  /** All lines logged so far. */
  readonly log: readonly LogLine[]
  readonly #parts: TestHostParts

  constructor(parts: TestHostParts) {
    this.#parts = parts
    this.kernel = parts.kernel
    this.root = parts.dir.path
    this.seed = parts.seed
    this.log = parts.log
  }

  /** @throws when the test host runs on the machine's clock */
  get clock(): HeldClock {
    if (!this.#parts.clock)
      throw new Error("This test host runs on the machine's clock. Open it without `clock: 'system'`.")
    return this.#parts.clock
  }

  /** The lines whose message holds this text. */
  logged(text: string): LogLine[] {
    return this.log.filter(line => line.msg.includes(text))
  }

  /** Writes files, by path below the project's folder. */
  write(files: Readonly<Record<string, string>>): Promise<void> {
    return this.#parts.dir.write(files)
  }

  /** Stops the kernel, advancing a held clock as long as that takes, and removes a temporary project. */
  async close(): Promise<void> {
    let closing = true
    const closed = this.kernel.close().finally(() => {
      closing = false
    })
    while (closing && this.#parts.clock) await this.#parts.clock.advance(100)
    await closed
    await this.#parts.drop?.()
    if (this.#parts.temporary) await this.#parts.dir[Symbol.asyncDispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/**
 * Opens a test host: `await using host = await testHost({ builtins: [plugin] })`.
 * @throws what `Kernel.open` throws, after removing the temporary project
 */
export async function testHost(options: TestHostOptions = {}): Promise<TestHost> {
  const dir = options.root === undefined ? await tempDir() : new TempDir(options.root)
  const temporary = options.root === undefined
  const clock = options.clock === 'system' ? undefined : (options.clock ?? new HeldClock())
  const seed = options.seed ?? seedOfThisRun()
  const random = keyedRandom(seed)
  const log: LogLine[] = []
  const elsewhere = await databaseElsewhere(options, dir.path)
  try {
    await dir.write(filesOf(options))
    if (temporary && !elsewhere) await foundDatabase(options, dir.path)
    const kernel = await openKernel({
      root: dir.path,
      roles: options.roles ?? ['daemon'],
      pluginFiles: 'all',
      builtins: [...(elsewhere?.builtins ?? []), ...(options.builtins ?? [])],
      ports: {
        ...(clock ? { clock } : {}),
        random,
        ids: keyedIds(random),
        env: { ...elsewhere?.env, ...options.env },
        ...options.ports,
      },
      log: { level: 'debug', write: line => void log.push(JSON.parse(line) as LogLine) },
      modules: importable,
    })
    const drop = temporary ? elsewhere?.drop : undefined
    return new TestHost({ kernel, dir, temporary, clock, seed, log, drop })
  } catch (error) {
    if (temporary) await dir[Symbol.asyncDispose]()
    throw error
  }
}

/** With `SVC_TEST_STORE=postgres`, each test project has its own PostgreSQL database. */
async function databaseElsewhere({ builtins = [], env = {} }: TestHostOptions, root: string) {
  const names = builtins.map(({ name }) => name)
  if (process.env.SVC_TEST_STORE !== 'postgres' || !names.includes('store') || 'SVC_STORE_URL' in env) return
  // A variable keeps the bundler from following the import: `svc/testing` works without a database server.
  const file = './postgres.ts'
  const { cluster, countQueries, sharedServer, testDatabase } = (await import(file)) as typeof import('./postgres.ts')
  countQueries()
  const { url, drop } = await testDatabase(await sharedServer(), root)
  return { builtins: names.includes('cluster') ? [] : [cluster], env: { SVC_STORE_URL: url }, drop }
}

let empty: Promise<Buffer> | undefined

/** Copies an empty database into the project, so that the migrations run once per process. */
async function foundDatabase({ builtins = [], files = {} }: TestHostOptions, root: string): Promise<void> {
  if (!builtins.some(({ name }) => name === 'store') || DATABASE in files) return
  empty ??= emptyDatabase()
  await writeFile(join(root, DATABASE), await empty, { mode: 0o600 })
}

async function emptyDatabase(): Promise<Buffer> {
  await using dir = await tempDir()
  const { openDatabase } = await import('#platform/store/sqlite/open')
  const file = join(dir.path, 'svc.db')
  const database = await openDatabase(file, systemPorts(), { synchronous: 'normal', check: false })
  database.close()
  return readFile(file)
}

function filesOf({ plugins = {}, files = {}, config }: TestHostOptions): Record<string, string> {
  const all: Record<string, string> = { ...files }
  for (const [name, source] of Object.entries(plugins)) all[join('plugins', name)] = source
  if (config !== undefined) all[join('.svc', 'config.yaml')] = typeof config === 'string' ? config : stringify(config)
  else all[join('.svc', '.keep')] = ''
  return all
}

let seed: number | undefined

/**
 * Returns a seed that is chosen once for the process and printed, so that a failing run can be repeated with
 * `SVC_TEST_SEED`.
 */
function seedOfThisRun(): number {
  if (seed === undefined) {
    seed = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))
    console.log(`svc/testing: SVC_TEST_SEED=${seed}`)
  }
  return seed
}
