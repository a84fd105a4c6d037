import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UNKNOWN } from '#core/runtime/loop/tool-call'
import {
  type ModelServer,
  type ModelServerRequest,
  modelServer,
  svc,
  tempDir,
  text,
  toolCall,
} from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { brokenRows } from '../rows.ts'
import { brokenStamps, STAMP, STAMP_CALLS, type StampCall, stampsIn } from '../stamps.ts'

const HOOK = fileURLToPath(new URL('./crash-hook.js', import.meta.url))
const STAMPS = 2

/** Script of goal after goal, each with some stamps, a report and the end. Reads the progress from the conversation. */
function script() {
  let goals = 0
  return ({ body, prompt }: ModelServerRequest) => {
    if (prompt.includes('"goal":')) {
      const odd = [++goals, goals * 7919, goals * 104_729].map(n => n.toString(36).padStart(6, 'q'))
      return text(JSON.stringify({ goal: `Stamp ${odd.join(' ')}` }))
    }
    const done = body.messages.filter(message => message.role === 'tool').length
    if (done < STAMPS) return toolCall('stamp', { n: done })
    if (done === STAMPS) return toolCall('file_write', { path: 'report.md', content: 'stamped' })
    return toolCall('finish_goal', { summary: 'It is stamped', evidence: ['report.md'] })
  }
}

/** Project that is killed again and again, and what must hold each time. */
export class Crashing {
  readonly cwd: string
  readonly server: ModelServer
  readonly #dir: Awaited<ReturnType<typeof tempDir>>
  readonly env: Readonly<Record<string, string>>

  private constructor(dir: Awaited<ReturnType<typeof tempDir>>, server: ModelServer) {
    this.#dir = dir
    this.cwd = dir.path
    this.server = server
    this.env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  }

  static async open(names: readonly string[]): Promise<Crashing> {
    const dir = await tempDir()
    const made = new Crashing(dir, await modelServer({ script: script() }))
    await svc(['init', '--quiet'], { cwd: dir.path })
    await dir.write({
      'plugins/stamp.ts': STAMP,
      '.svc/config.yaml': 'daemon:\n  heartbeat: 0.1\n  min_rest: 0.05\n  budget_usd: 1000\n',
      ...Object.fromEntries(names.map(name => [`profiles/${name}.yaml`, `name: ${name}\nrole: stamps\n`])),
    })
    return made
  }

  /** Returns the environment in which a process kills itself at this point. */
  at(point: string): Record<string, string> {
    return { ...this.env, SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` }
  }

  all<R>(sql: string, ...params: unknown[]): R[] {
    const db = new Sqlite(join(this.cwd, '.svc/svc.db'), { timeout: 5000 })
    try {
      return db.prepare(sql).all(...params) as R[]
    } finally {
      db.close()
    }
  }

  active(): string[] {
    return this.all<{ goal_id: string }>("SELECT goal_id FROM goals WHERE status = 'active'").map(row => row.goal_id)
  }

  /** Number of model calls that are paid for. */
  get spendCount(): number {
    return this.all<{ n: number }>('SELECT count(*) AS n FROM spend')[0]!.n
  }

  /** Returns what is broken, as messages: nothing, after any number of kills. */
  async findFaults(kills: number): Promise<string[]> {
    const faults = brokenRows({
      all: (sql, params = []) => this.all(sql, ...params),
      get: <R>(sql: string, params: readonly unknown[] = []) => this.all<R>(sql, ...params)[0],
      now: Date.now(),
    })
    const astray = this.all("SELECT goal_id, status FROM goals WHERE status NOT IN ('active', 'completed')")
    if (astray.length > 0) faults.push(`goals that are neither active nor completed: ${JSON.stringify(astray)}`)
    const journal = this.all<StampCall>(STAMP_CALLS)
    // Each stamp of a goal is made once, whichever call makes it.
    faults.push(...brokenStamps(await stampsIn(this.cwd), journal, ({ goal_id, n }) => `${goal_id} ${n}`))
    // Calls that the operator's messages held back are errors, too; they did not begin.
    const unknown = journal.filter(row => row.outcome?.includes(UNKNOWN))
    if (unknown.length > kills) faults.push(`${unknown.length} unknown outcomes after ${kills} kills`)
    // A reservation for a call that may have been made counts as spent.
    if (this.spendCount > this.server.requests.length + kills) {
      faults.push(`${this.spendCount} calls booked, ${this.server.requests.length} made`)
    }
    return faults
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close()
    await this.#dir[Symbol.asyncDispose]()
  }
}
