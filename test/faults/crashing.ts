import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import {
  type ModelServer,
  type ModelServerRequest,
  modelServer,
  svc,
  tempDir,
  text,
  toolCall,
} from '../support/index.ts'

const HOOK = fileURLToPath(new URL('./crash-hook.js', import.meta.url))
export const STAMPS = 2

/** A tool whose effect anybody can count, and that must not be repeated. */
const STAMP = `
import { definePlugin, tool, z } from 'svc'
export default definePlugin({
  name: 'stamp',
  setup(svc) {
    svc.toolkit({ name: 'stamp', tools: [tool({
      name: 'stamp', description: 'Stamps.', parameters: z.object({ n: z.number() }),
      async execute({ n }, call) {
        await svc.ports.files.appendFile(svc.project.root + '/stamps.log', call.call_id + ' ' + call.goal_id + ' ' + n + '\\n')
        await svc.clock.sleep(20)
        return 'stamped ' + n
      },
    })] })
  },
})`

/** Goal after goal; of each some stamps, a report, the end. Where a goal stands is read off the conversation. */
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

/** A project that is killed again and again, and what must be true of it each time. */
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

  /** The environment in which a process kills itself at this point. */
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

  /** How many model calls are paid for. */
  get booked(): number {
    return this.all<{ n: number }>('SELECT count(*) AS n FROM spend')[0]!.n
  }

  /** What is broken, in sentences; nothing, after any number of kills. */
  async broken(kills: number): Promise<string[]> {
    const faults: string[] = []
    const none = (what: string, rows: readonly unknown[]) => {
      if (rows.length > 0) faults.push(`${what}: ${JSON.stringify(rows).slice(0, 500)}`)
    }
    none(
      'integrity',
      this.all<{ integrity_check: string }>('PRAGMA integrity_check').filter(row => row.integrity_check !== 'ok'),
    )
    none('foreign keys', this.all('PRAGMA foreign_key_check'))
    none(
      'agents with two generated goals under way',
      this.all(
        "SELECT agent_id FROM goals WHERE status = 'active' AND origin = 'generated' GROUP BY agent_id HAVING count(*) > 1",
      ),
    )
    none(
      'transcripts of goals that are over',
      this.all(
        "SELECT goal_id FROM pursuit_transcripts WHERE goal_id IN (SELECT goal_id FROM goals WHERE status <> 'active')",
      ),
    )
    none(
      'goals that are neither active nor completed',
      this.all("SELECT goal_id, status FROM goals WHERE status NOT IN ('active', 'completed')"),
    )
    none('results without their call', this.#strayResults())

    const lines = await readFile(join(this.cwd, 'stamps.log'), 'utf8').catch(() => '')
    const stamps = lines
      .split('\n')
      .filter(Boolean)
      .map(line => line.split(' ') as [string, string, string])
    const seen = new Set<string>()
    for (const [, goal, n] of stamps) {
      if (seen.has(`${goal} ${n}`)) faults.push(`stamped twice: ${goal} ${n}`)
      seen.add(`${goal} ${n}`)
    }
    const journal = this.all<{ call_id: string; outcome: string | null; is_error: number | null }>(
      "SELECT call_id, outcome, is_error FROM tool_calls WHERE tool = 'stamp'",
    )
    const known = new Set(journal.map(row => row.call_id))
    none(
      'stamps without a row in the journal',
      stamps.filter(([call_id]) => !known.has(call_id)),
    )
    const stamped = new Set(stamps.map(([call_id]) => call_id))
    none(
      'outcomes told of what did not happen',
      journal.filter(row => row.outcome !== null && row.is_error === 0 && !stamped.has(row.call_id)),
    )
    const unknown = journal.filter(row => row.is_error === 1)
    if (unknown.length > kills) faults.push(`${unknown.length} unknown outcomes after ${kills} kills`)

    // What was held for a call that may have been made counts as spent.
    if (this.booked > this.server.requests.length + kills) {
      faults.push(`${this.booked} calls booked, ${this.server.requests.length} made`)
    }
    return faults
  }

  #strayResults(): unknown[] {
    const rows = this.all<{ goal_id: string; message: string }>(
      'SELECT goal_id, message FROM pursuit_transcripts ORDER BY goal_id, seq',
    )
    const calls = new Set<string>()
    return rows.filter(({ goal_id, message }) => {
      const {
        role,
        tool_calls = [],
        tool_call_id,
      } = JSON.parse(message) as {
        role: string
        tool_calls?: { id: string }[]
        tool_call_id?: string
      }
      for (const { id } of tool_calls) calls.add(`${goal_id} ${id}`)
      return role === 'tool' && !calls.has(`${goal_id} ${tool_call_id}`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close()
    await this.#dir[Symbol.asyncDispose]()
  }
}
