import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { BUILTINS } from '../../../../builtins/index.ts'
import { type Connection, Medium } from '../../../../builtins/platform/store/contract.ts'
import { type ModelServerRequest, modelServer, testHost, text, toolCall } from '../../../support/index.ts'
import { asksForGoal, spawn, WORKER } from '../models/model-host.ts'

/** Maximum number of statements in a turn, without BEGIN and COMMIT. */
const STATEMENTS = 18
const TRANSACTIONS = 1.0

/** Time limit, far longer than a busy machine needs. A run that hangs reports its progress and is tried once more. */
const PATIENCE_MS = 120_000
const AGENTS = 24
const GOALS = 4
/** Three turns for each goal: one generates it, one writes a file, one finishes it. */
const TURNS = AGENTS * GOALS * 3
const MODULES = fileURLToPath(new URL('../../../../builtins/', import.meta.url))
const BOUNDARY = /^\s*(?:BEGIN|COMMIT|ROLLBACK)/
/** Modules that run statements for other modules. */
const CARRIERS = /^(?:platform\/store|lib\/|.*\/recordings$)/

/** Counts the statements that reach SQLite, by the module that issued them. */
class Statements {
  readonly #counts = new Map<string, number>()
  all = 0
  transactions = 0

  clear(): void {
    this.#counts.clear()
    this.all = this.transactions = 0
  }

  add(sql: string): void {
    if (/^\s*BEGIN/.test(sql)) this.transactions++
    if (BOUNDARY.test(sql)) return
    this.all++
    const key = `${callingModule()}: ${sql.trim().replace(/\s+/g, ' ').slice(0, 160)}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** Returns one line for each statement, the most frequent first. */
  perTurn(): string {
    const sorted = [...this.#counts].sort(([, a], [, b]) => b - a)
    return sorted.map(([key, count]) => `${(count / TURNS).toFixed(2).padStart(6)}  ${key}`).join('\n')
  }
}

function callingModule(): string {
  Error.stackTraceLimit = 60
  const frames = new Error().stack?.split('\n') ?? []
  Error.stackTraceLimit = 10
  const modules = frames.flatMap(frame => {
    const at = frame.indexOf(MODULES)
    return at < 0
      ? []
      : [
          frame
            .slice(at + MODULES.length)
            .split(sep, 2)
            .join('/'),
        ]
  })
  return modules.find(name => !CARRIERS.test(name)) ?? 'platform/store'
}

function countedBy(statements: Statements) {
  const counted =
    <T>(sql: string, execute: (...params: unknown[]) => T) =>
    (...params: unknown[]): T => {
      statements.add(sql)
      return execute(...params)
    }
  const connect = (_: string, connection: Connection): Connection => ({
    prepare(sql) {
      const statement = connection.prepare(sql)
      return {
        run: counted(sql, (...params) => statement.run(...params)),
        all: counted(sql, (...params) => statement.all(...params)),
        get: counted(sql, (...params) => statement.get(...params)),
        columns: () => statement.columns(),
      }
    },
    exec: sql => connection.exec(sql),
    pragma: (sql, options) => connection.pragma(sql, options),
    serialize: () => connection.serialize(),
    close: () => connection.close(),
    get inTransaction() {
      return connection.inTransaction
    },
    get open() {
      return connection.open
    },
  })
  return definePlugin({
    name: 'counted-database',
    setup(svc) {
      svc.provide(Medium, { connect: (file, open) => connect(file, open(file)) })
    },
  })
}

/** Starts the next cycle of each agent at once, until it has completed its goals. */
function livesOf(ended: (error?: unknown) => void) {
  return definePlugin({
    name: 'lives',
    setup(svc) {
      const goals = new Map<string, number>()
      let active = AGENTS
      svc.tap('cleanup', 'lives', (cycle: Cycle) => {
        const { agent_id, result, error } = cycle
        // A failed agent would wait for a time that never comes, cycle after cycle.
        if (error !== undefined) return ended(error)
        const count = (goals.get(agent_id) ?? 0) + (result === 'completed' ? 1 : 0)
        goals.set(agent_id, count)
        if (count < GOALS) cycle.run_at = svc.clock.ms()
        else if (--active === 0) ended()
      })
    },
  })
}

/** Returns the script of a short goal. */
function shortGoals() {
  let found = 0
  let notes = 0
  return (request: ModelServerRequest) => {
    if (asksForGoal(request)) {
      const goal = `Write down what is known of subject ${++found}, ${found * 3} and ${found * 7}`
      return text(JSON.stringify({ goal, reasoning: 'it is due' }))
    }
    const result = request.body.messages.at(-1)
    const written = result?.role === 'tool' && /note-\d+\.md/.exec(String(result.content))
    if (written) return toolCall('finish_goal', { summary: 'Written.', evidence: [...written] })
    return toolCall('file_write', { path: `note-${++notes}.md`, content: 'what is known' })
  }
}

it(`a model turn of a short goal takes at most ${STATEMENTS} statements and ${TRANSACTIONS} transactions`, {
  retry: 1,
}, async () => {
  await using server = await modelServer({ script: shortGoals() })
  const statements = new Statements()
  let ended: (error?: unknown) => void = () => {}
  const over = new Promise<void>((resolve, reject) => {
    ended = error => (error === undefined ? resolve() : reject(error))
  })
  await using host = await testHost({
    builtins: [countedBy(statements), ...BUILTINS, livesOf(error => ended(error))],
    files: { 'profiles/worker.yaml': WORKER },
    config: { daemon: { min_rest: 0, heartbeat: 3600 } },
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
  })
  for (let n = 0; n < AGENTS; n++) await spawn(host)
  statements.clear()
  host.kernel.heartbeat.start()
  const late = setTimeout(() => {
    const { inFlight } = host.kernel.heartbeat
    ended(new Error(`${server.requests.length} requests, ${statements.all} statements, and cycles of ${inFlight}`))
  }, PATIENCE_MS)
  await over.finally(() => clearTimeout(late))
  await host.kernel.heartbeat.stop()
  expect(server.requests).toHaveLength(TURNS)
  const { all, transactions } = statements
  const found = `${(all / TURNS).toFixed(1)} statements and ${(transactions / TURNS).toFixed(2)} transactions a turn`
  expect(all / TURNS, `${found}:\n${statements.perTurn()}`).toBeLessThanOrEqual(STATEMENTS)
  expect(transactions / TURNS, found).toBeLessThanOrEqual(TRANSACTIONS)
})
