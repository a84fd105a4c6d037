import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, readlink, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { createClient } from '#interfaces/rest/client'
import { project } from '../../cli/project.ts'
import { STAMP } from '../../faults/stamps.ts'
import { RunningSvc } from '../../support/cli.ts'
import { type TempDir, tempDir } from '../../support/temp.ts'
import build from '../../support/vitest/build.ts'
import type { ModelReport, ToModel } from './soak-model.ts'
import { UNSTEADY, unsteady } from './soak-plugin.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const INSIDE = fileURLToPath(new URL('./soak-inside.cjs', import.meta.url))

/** Eight presets with different toolkits, each with tools that fail and one whose effects can be counted. */
export const PRESETS: Readonly<Record<string, readonly string[]>> = {
  clerk: ['file', 'notepad'],
  librarian: ['memory', 'notepad'],
  hand: ['shell', 'file'],
  lead: ['delegation', 'task'],
  courier: ['comms', 'a2a', 'memory'],
  planner: ['task', 'schedule', 'alarm'],
  scholar: ['knowledge', 'links', 'memory'],
  worker: ['delegation', 'file', 'shell'],
}

interface Inside extends Record<'wall' | 'own', { p99: number; max: number }> {
  memory: { looks: number; bytes: number }
}

export const CONFIG = {
  daemon: {
    heartbeat: 0.2,
    min_rest: 0,
    tool_timeout: 2,
    cycle_timeout: 20,
    stop_grace: 2,
    budget_tokens: 5_000_000,
    idle_backoff_limit: 2,
  },
  model: { idle_timeout: 2, total_timeout: 8, retry_delay: 0.05, retry_cap: 1, breaker_cooldown: 1 },
  retention: { enabled: true, days: 1, interval_cycles: 50, max_runs: 5 },
  // Programs and payments wait for approval; changes to files of a workspace do not.
  approval: { enabled: true, auto_approve: ['file_write', 'file_edit', 'clear_notepad'], timeout_cycles: 100 },
  checkpoints: { every_cycles: 100, keep: 3 },
  economy: { enabled: true },
  server: { session_ttl_hours: 0.02 },
}

/** A service as in production and its model, in processes of their own and a folder of their own. */
export class SoakedProject {
  readonly root: string
  readonly svc: RunningSvc
  readonly url: string
  readonly client: ReturnType<typeof createClient>
  /** Number of versions of the unsteady plugin so far. */
  version = 0
  readonly #model: ChildProcess
  readonly #dirs: TempDir[]

  private constructor(parts: { root: string; svc: RunningSvc; url: string; model: ChildProcess; dirs: TempDir[] }) {
    this.root = parts.root
    this.svc = parts.svc
    this.url = parts.url
    this.client = createClient({ baseUrl: parts.url, user: 'operator' })
    this.#model = parts.model
    this.#dirs = parts.dirs
  }

  static async open(seed: number): Promise<SoakedProject> {
    await build()
    const program = await asItStands()
    const dir = await project({
      '.svc/config.yaml': stringify(CONFIG),
      'plugins/stamp.ts': STAMP,
      [`plugins/${UNSTEADY}.ts`]: unsteady(0),
      ...Object.fromEntries(
        Object.entries(PRESETS).map(([name, toolkits]) => [
          `profiles/${name}.yaml`,
          stringify({ name, role: `soaks as ${name}`, max_steps: 6, toolkits: [...toolkits, 'stamp', UNSTEADY] }),
        ]),
      ),
    })
    const model = fork(fileURLToPath(new URL('./soak-model.ts', import.meta.url)), { execArgv: process.execArgv })
    model.send({ begin: seed } satisfies ToModel)
    const [address] = (await once(model, 'message')) as [string]
    const words = ['serve', '--with-daemon', '--port', '0', '--profiles', Object.keys(PRESETS).join(',')]
    const env = {
      OPENAI_BASE_URL: address,
      OPENAI_API_KEY: 'test-key',
      OPENAI_MODEL: 'scripted',
      NODE_OPTIONS: `--require=${INSIDE}`,
      SVC_SOAK_INSIDE: join(dir.path, 'inside.json'),
      // As in the unit that the service writes for systemd.
      MALLOC_ARENA_MAX: '2',
    }
    const svc = new RunningSvc(words, { cwd: dir.path, env, program: join(program.path, 'dist', 'svc.js') })
    const [, url = ''] = await svc.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    // Resets the figures of the event loop: the start is measured elsewhere.
    svc.process.kill('SIGUSR2')
    return new SoakedProject({ root: dir.path, svc, url, model, dirs: [dir, program] })
  }

  get pid(): number {
    return this.svc.pid
  }

  get database(): string {
    return join(this.root, '.svc', 'svc.db')
  }

  sendToModel(message: ToModel): void {
    this.#model.send(message)
  }

  async modelReport(): Promise<ModelReport> {
    const answer = once(this.#model, 'message')
    this.sendToModel('report')
    return ((await answer) as [ModelReport])[0]
  }

  /** Edits the plugin through a temporary file, as editors do. */
  async edit(): Promise<void> {
    const file = join(this.root, 'plugins', `${UNSTEADY}.ts`)
    await writeFile(`${file}~`, unsteady(++this.version))
    await rename(`${file}~`, file)
  }

  /** Returns the errors logged since the last call. */
  errors(): Record<string, unknown>[] {
    const end = this.svc.stderr.lastIndexOf('\n') + 1
    const lines = this.svc.stderr.slice(0, end).split('\n').filter(Boolean)
    this.svc.stderr = this.svc.stderr.slice(end)
    // Warnings of retention count too: what it leaves fills a disk in time.
    return lines.map(read).filter(line => !(Number(line.level) < 50) || line.plugin === 'retention')
  }

  /** Returns the open files and sockets by kind, with the number of each. */
  async open(): Promise<Record<string, number>> {
    const folder = `/proc/${this.pid}/fd`
    const kinds: Record<string, number> = {}
    for (const fd of await readdir(folder)) {
      // The file may be closed by now.
      const target = await readlink(join(folder, fd)).catch(() => '')
      const kind = target.replace(/\[\d+\]$/, '').replace(this.root, '')
      if (kind) kinds[kind] = (kinds[kind] ?? 0) + 1
    }
    return kinds
  }

  /**
   * Returns the process's own figures: how late its loop was since the start, in milliseconds, and its memory at the
   * last request.
   */
  async processReport(): Promise<Inside> {
    while (this.svc.process.exitCode === null) {
      const text = await readFile(join(this.root, 'inside.json'), 'utf8').catch(() => '')
      // The file may be incomplete while it is written.
      if (text.endsWith('}')) return JSON.parse(text)
      await sleep(20)
    }
    throw new Error(`the service ended with ${this.svc.process.exitCode}`)
  }

  /** Returns the memory of the process after a garbage collection, in mebibytes. */
  async memory(): Promise<number> {
    const before = await this.processReport()
    this.svc.process.kill('SIGWINCH')
    for (;;) {
      const { memory } = await this.processReport()
      if (memory.looks > before.memory.looks) return memory.bytes / 2 ** 20
      await sleep(50)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.svc[Symbol.asyncDispose]()
    if (this.#model.connected) this.#model.disconnect()
    for (const dir of this.#dirs) await dir[Symbol.asyncDispose]()
  }
}

/** Copies the program into its own folder, so that a build meanwhile removes none of its files. */
async function asItStands(): Promise<TempDir> {
  const dir = await tempDir()
  await mkdir(join(dir.path, 'dist'))
  await cp(join(ROOT, 'dist'), join(dir.path, 'dist'), { recursive: true })
  for (const file of ['package.json', 'profiles', 'plugins'])
    await cp(join(ROOT, file), join(dir.path, file), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(dir.path, 'node_modules'))
  return dir
}

function read(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // Output that is not a log line is unexpected.
    return { level: 60, msg: line }
  }
}
