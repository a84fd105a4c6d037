import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import models from '#core/models/index'
import { definePlugin, z } from '#kernel'
import type { BenchmarkReport } from '#lab/benchmark/contract'
import cluster from '#platform/cluster/index'
import { SchedulerToken } from '#platform/heartbeat/contract'
import { defineEffect, Effects, Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { type BudgetStatus, bookSpend } from '#safety/budget/contract'
import budget from '#safety/budget/index'
import { holdSpend, openWindow, presumeSpent } from '#safety/budget/repository'
import { project } from '../cli/project.ts'
import { heldClock, type TempDir, type TestHost, tempDir, testHost, until } from '../support/index.ts'
import { postgresOr, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { svc } from '../support/vitest/warm.ts'

const NEVER = Number.MAX_SAFE_INTEGER
const TOKENS = 4_366

const run = defineEffect({
  name: 'test.run',
  schema: z.object({ sql: z.string(), params: z.array(z.unknown()) }),
  statements: given => [given],
})
const statements = definePlugin({
  name: 'test-statements',
  setup(svc) {
    svc.add(Effects, run.kind)
  },
})
const sql = (text: string, ...params: unknown[]) => run({ sql: text, params })

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

describe.each(['sqlite', 'postgres'] as const)('the budget on %s', engine => {
  const skipped = engine === 'postgres' && server === undefined
  const it_ = it.skipIf(skipped)
  const clock = heldClock()
  let root: TempDir
  let database: TestDatabase | undefined
  /** Two daemons on one database. */
  let here: TestHost
  let there: TestHost

  beforeAll(async () => {
    if (skipped) return
    root = await tempDir()
    if (engine === 'postgres') database = await testDatabase(server!, root.path)
    const open = (seed: number) =>
      testHost({
        seed,
        builtins: [store, cluster, models, budget, statements],
        root: root.path,
        clock,
        env: { SVC_STORE_URL: database?.url ?? '' },
      })
    here = await open(1)
    there = await open(2)
    await apply(here, sql("UPDATE leases SET run_at = ? WHERE id = 'sys:beat'", NEVER))
  })
  afterAll(async () => {
    await here?.close()
    await there?.close()
    await database?.drop()
    await root?.[Symbol.asyncDispose]()
  })

  const apply = (home: TestHost, ...effects: Parameters<Store['apply']>[0]) => home.kernel.use(Store).apply(effects)
  const hold = (
    call_id: string,
    agent_id: string,
    options: { expires_at?: number; agents?: { agent_id: string; micros: number }[] } = {},
  ) =>
    holdSpend({
      call_id,
      owner: 'holder-1-gone',
      by_daemon: true,
      agent_id,
      root_agent_id: agent_id,
      goal_id: null,
      kind: 'goal_pursuit',
      model: 'sim:m',
      priced: 'free',
      amount: { micros: 7, tokens: TOKENS },
      limits: { micros: 0, tokens: 1_000_000 },
      bound: 7,
      agents: options.agents ?? [],
      expires_at: options.expires_at ?? NEVER,
    })
  const book = (call_id: string, agent_id: string) =>
    bookSpend({
      call_id,
      agent_id,
      goal_id: null,
      kind: 'goal_pursuit',
      model: 'sim:m',
      priced: 'free',
      estimated: false,
      cost_micros: 3,
      input_tokens: 100,
      output_tokens: 20,
      attempts: 1,
      duration_ms: 1,
    })
  /** Creates an agent and claims its lease. */
  const drive = async (agent_id: string) => {
    await apply(
      here,
      sql("INSERT INTO agents (agent_id, name, role, spawned_at) VALUES (?, 'n', 'r', 0)", agent_id),
      sql('INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, 0)', agent_id, agent_id),
    )
    await here.kernel.use(SchedulerToken).claim(1)
  }
  /** Releases the agent's lease, so that the next daemon claims it. */
  const letGo = (agent_id: string) =>
    apply(here, sql('UPDATE leases SET owner = NULL, run_at = 0 WHERE id = ?', agent_id))
  const sums = () =>
    here.kernel.use(Store).get<Record<'micros' | 'tokens' | 'booked_micros' | 'booked_tokens' | 'held', number>>(
      `SELECT spent_micros AS micros, spent_tokens AS tokens,
         (SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE spend.budget_window = budget.budget_window) AS booked_micros,
         (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM spend
           WHERE spend.budget_window = budget.budget_window) AS booked_tokens,
         (SELECT coalesce(sum(tokens), 0) FROM budget_reservations) AS held FROM budget`,
    )
  const addsUp = async () => {
    const { micros, tokens, booked_micros, booked_tokens, held } = (await sums())!
    expect({ micros, tokens }).toEqual({ micros: booked_micros, tokens: booked_tokens })
    return { tokens, held }
  }

  it_('equals the spend rows when an agent is taken over while a lost call of its is being booked', async () => {
    await drive('ann')
    await apply(here, hold('c-ann-1', 'ann'), hold('c-ann-2', 'ann'))
    await clock.advance(10_000)
    await letGo('ann')
    await apply(here, openWindow({}))
    const takeOver = () => there.kernel.use(SchedulerToken).claim(1)
    if (engine === 'postgres') await between('spend', () => apply(here, presumeSpent({ daemon: null })), takeOver)
    else await Promise.all([apply(here, presumeSpent({ daemon: null })), takeOver()])
    await addsUp()
    await apply(here, presumeSpent({ daemon: null }))
    expect(await addsUp()).toEqual({ tokens: 2 * TOKENS, held: 0 })
  })

  it_('equals the spend rows when the answer of a lost call comes late, twice and in the next window', async () => {
    await drive('bob')
    await apply(here, hold('c-bob-1', 'bob'), hold('c-bob-2', 'bob'), hold('c-bob-3', 'bob'))
    await clock.advance(10_000)
    await letGo('bob')
    await there.kernel.use(SchedulerToken).claim(1)
    await Promise.all([
      apply(there, presumeSpent({ daemon: null })),
      apply(here, book('c-bob-1', 'bob')),
      apply(there, presumeSpent({ daemon: null })),
    ])
    await addsUp()
    await apply(here, book('c-bob-1', 'bob'), book('c-bob-2', 'bob'))
    await addsUp()
    await apply(here, openWindow({}))
    await apply(there, book('c-bob-3', 'bob'), book('c-bob-2', 'bob'))
    expect(await addsUp()).toEqual({ tokens: 120, held: 0 })
  })

  it_(
    'holds no more than the total limit of an agent, whichever of those below it and whichever process asks',
    async () => {
      await apply(
        here,
        sql("INSERT INTO agents (agent_id, name, role, spawned_at) VALUES ('top', 'n', 'r', 0)"),
        sql("INSERT INTO agents (agent_id, name, role, spawned_at, spawned_by) VALUES ('mid', 'n', 'r', 0, 'top')"),
        sql("INSERT INTO agents (agent_id, name, role, spawned_at, spawned_by) VALUES ('low', 'n', 'r', 0, 'mid')"),
        book('c-spent', 'low'),
      )
      const agents = [{ agent_id: 'top', micros: 3 + 3 * 7 + 6 }]
      const asked = Array.from({ length: 12 }, (_, n) =>
        apply(n % 2 ? here : there, hold(`c-top-${n}`, ['top', 'mid', 'low'][n % 3]!, { agents })),
      )
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(3)
    },
  )

  /** Runs one operation while another waits for a table lock in the middle of its transaction. */
  async function between(table: string, waits: () => Promise<unknown>, runs: () => Promise<unknown>): Promise<void> {
    const client = new pg.Client(database!.url)
    await client.connect()
    try {
      await client.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`)
      const waiting = waits()
      const blocked = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`
      await until(async () => (await client.query(blocked)).rows.length > 0)
      await runs()
      await client.query('COMMIT')
      await waiting
    } finally {
      await client.end()
    }
  }
})

describe('demos and benchmarks', () => {
  it("leave the operator's budget unchanged when they use a simulated model", async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon: { budget_tokens: 10000, budget_persist: true }\n' })
    const demo = await svc(['demo', 'detective', '--seed', '5'], { cwd: dir.path })
    expect(demo.code).toBe(0)
    const words = ['--models', 'sim:rules-1', '--scenarios', 'structured', '--runs', '20', '--seed', '1', '--json']
    const benchmark = await svc(['benchmark', ...words], { cwd: dir.path })
    expect(benchmark.code).toBe(0)
    expect((JSON.parse(benchmark.stdout) as BenchmarkReport).models[0]).toMatchObject({ complete: true, runs: 20 })
    const { stdout } = await svc(['budget', '--json'], { cwd: dir.path })
    expect(JSON.parse(stdout) as BudgetStatus).toMatchObject({
      spent: { usd: 0, tokens: 0 },
      reserved: { tokens: 0 },
      remaining: { tokens: 10_000 },
    })
  }, 60_000)
})
