import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Goal } from '#core/goals/contract'
import sessions from '#core/sessions/index'
import subAgents from '#core/sub-agents/index'
import tasks from '#core/tasks/index'
import { definePlugin } from '#kernel'
import { MIGRATIONS } from '#migrations'
import events from '#observability/events/index'
import metrics from '#observability/metrics/index'
import runs from '#observability/runs/index'
import summary from '#observability/summary/index'
import type { Summary } from '#observability/summary/schema'
import { type RetentionReport, RetentionRules } from '#platform/retention/contract'
import retention from '#platform/retention/index'
import schedules from '#platform/schedules/index'
import { Database } from '#platform/store/sqlite/database'
import approvals from '#safety/approvals/index'
import type { BudgetStatus } from '#safety/budget/contract'
import suffering from '#society/suffering/index'
import { allBehind, ON_POSTGRES, rowsBehind, type SqlStatement, writeDirectly } from '../../support/direct-access.ts'
import {
  runHeartbeat,
  type TestHost,
  type TestHostOptions,
  tempDir,
  until,
  waitUntilIdle,
} from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { detail, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { goalAnswer } from '../safety/approvals-host.ts'

const DAY = 86_400_000
const OTHERS = [approvals, sessions, tasks, subAgents, schedules, suffering, runs, events, metrics, summary, retention]

/** Creates a test host with all modules that have data to remove; its heartbeat is not started. */
async function testHostWithEverything(options: TestHostOptions = {}) {
  const home = await testHostWithModel(() => goalAnswer(''), {
    ...options,
    builtins: [...OTHERS, ...(options.builtins ?? [])],
    files: { 'profiles/worker.yaml': 'name: worker\nrole: r\n' },
  })
  const id = await spawn(home)
  return Object.assign(home, { id })
}

const run = ({ kernel }: TestHost, input: object = {}) =>
  kernel.invoke('retention.run', input) as Promise<RetentionReport>

const count = async ({ root }: TestHost, table: string, where = 'true') =>
  (await rowsBehind<{ n: number }>(root, `SELECT count(*) AS n FROM ${table} WHERE ${where}`))[0]!.n

/** SQL for a range of numbers as `i`, by start and count. */
const numbers = (from: number, many: number) =>
  `(WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${from + many - 1}) SELECT i FROM n) numbers`

/** Inserts one row of each kind: old and removable, old but needed, and recent. */
async function insertRows(home: TestHost & { id: string }): Promise<void> {
  const { id } = home
  const now = home.clock.ms()
  const [old, fresh] = [now - 40 * DAY, now - 5 * DAY]
  const statements: SqlStatement[] = []
  const insert = (table: string, row: Record<string, unknown>) => {
    const places = Object.keys(row).map(() => '?')
    statements.push([
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`,
      ...Object.values(row),
    ])
  }
  insert('agents', { agent_id: 'dead-1', name: 'dead', role: 'r', preset: 'worker', spawned_at: old, died_at: old })
  for (const [name, at] of [
    ['old', old],
    ['new', fresh],
  ] as const) {
    insert('nudges', { nudge_id: `${name}-read`, agent_id: id, message: 'm', created_at: at, delivered_at: at })
    insert('nudges', { nudge_id: `${name}-unread`, agent_id: id, message: 'm', created_at: at })
    insert('suffering_history', {
      agent_id: id,
      at,
      hourly: 1,
      load: 0.5,
      happiness: 0.5,
      crisis: 0,
      mood: 'calm',
      severities: '{}',
      persona: '{}',
      base: '{}',
    })
    insert('alarms', {
      alarm_id: `${name}-reported`,
      agent_id: id,
      description: 'd',
      fire_at: at,
      status: 'fired',
      fired_at: at,
      told_at: at,
      created_at: at,
    })
    insert('alarms', {
      alarm_id: `${name}-unreported`,
      agent_id: id,
      description: 'd',
      fire_at: at,
      status: 'fired',
      fired_at: at,
      created_at: at,
    })
    insert('alarms', {
      alarm_id: `${name}-pending`,
      agent_id: id,
      description: 'd',
      fire_at: now + DAY,
      created_at: at,
    })
    const call = {
      agent_id: id,
      model_call_id: 'm',
      epoch: 1,
      step: 1,
      tool: 't',
      arguments: '{}',
      args_hash: 'h',
      started_at: at,
    }
    for (const status of ['active', 'completed']) {
      const goal_id = `goal-${name}-${status}`
      insert('goals', {
        goal_id,
        agent_id: id,
        objective: 'o',
        status,
        origin: 'operator',
        created_at: at,
        completed_at: status === 'active' ? null : at,
      })
      insert('tool_calls', { ...call, call_id: goal_id, goal_id, state: 'done', ended_at: at })
      const approval_id = `ap-${name}-${status}-held`
      insert('tool_calls', { ...call, call_id: `${goal_id}-open`, goal_id, state: 'parked', approval_id })
      const approval = {
        agent_id: id,
        tool_name: 't',
        arguments: '{}',
        args_hash: goal_id,
        created_at: at,
        resolved_at: at,
      }
      insert('approvals', { approval_id: `ap-${name}-${status}-held`, status: 'approved', ...approval })
      insert('approvals', { approval_id: `ap-${name}-${status}`, status: 'denied', ...approval })
    }
    insert('approvals', {
      approval_id: `ap-${name}-pending`,
      status: 'pending',
      agent_id: id,
      tool_name: 't',
      arguments: '{}',
      args_hash: name,
      created_at: at,
    })
    for (const status of ['closed', 'expired', 'running']) {
      const session_id = `sess-${name}-${status}`
      insert('sessions', {
        session_id,
        agent_id: id,
        status,
        started_at: at,
        // Opened on its own, not by a task.
        created_at: at - 1,
        last_active: at,
        completed_at: status === 'running' ? null : at,
      })
      const task = {
        agent_id: id,
        session_id,
        user_id: 'default',
        instruction: 'i',
        max_steps: 1,
        request_id: 'r',
        request_hash: 'h',
        owner: 'o',
        lease_until: now + DAY,
        created_at: at,
      }
      insert('task_runs', { task_id: `task-${name}-${status}`, ...task, status: 'completed', ended_at: at })
      insert('task_messages', { task_id: `task-${name}-${status}`, seq: 1, message: '{}', created_at: at })
      const task_id = `task-${name}-${status}`
      insert('tool_calls', { ...call, call_id: task_id, task_id, state: 'done', ended_at: at })
    }
    const task = {
      agent_id: id,
      session_id: `sess-${name}-closed`,
      user_id: 'default',
      instruction: 'i',
      max_steps: 1,
      request_id: 'r',
      request_hash: 'h',
      owner: 'o',
      lease_until: now + DAY,
      created_at: at,
    }
    if (name === 'new') insert('task_runs', { task_id: 'task-waits', ...task, status: 'waiting_approval' })
  }
  insert('approvals', {
    approval_id: 'ap-dead',
    status: 'pending',
    agent_id: 'dead-1',
    tool_name: 't',
    arguments: '{}',
    args_hash: 'd',
    created_at: fresh,
  })
  await allBehind(home.root, statements)
}

const GONE = {
  nudges: 1,
  alarms: 1,
  approvals: 2,
  tool_calls: 1,
  task_runs: 2,
  sessions: 2,
  dead_agent_approvals: 1,
  suffering_history: 1,
  sub_agent_instructions: 0,
  approval_rules: 0,
  events: 0,
  spend: 0,
  runs: 0,
  expired_sessions: 0,
}

describe('retention', () => {
  it('removes old finished rows, and nothing that is pending, active or recent', async () => {
    await using home = await testHostWithEverything()
    await insertRows(home)
    const report = await run(home)
    expect(report).toMatchObject({ dry_run: false, rows: GONE, total: 11 })
    const remainingIds = async (table: string, key: string) =>
      (await rowsBehind<{ id: string }>(home.root, `SELECT ${key} AS id FROM ${table} ORDER BY 1`)).map(row => row.id)
    expect(await remainingIds('nudges', 'nudge_id')).toEqual(['new-read', 'new-unread', 'old-unread'])
    expect(await remainingIds('alarms', 'alarm_id')).toEqual([
      'new-pending',
      'new-reported',
      'new-unreported',
      'old-pending',
      'old-unreported',
    ])
    expect(await remainingIds('goals', 'goal_id')).toHaveLength(4)
    expect(await remainingIds('approvals', 'approval_id')).toEqual([
      'ap-dead',
      'ap-new-active',
      'ap-new-active-held',
      'ap-new-completed',
      'ap-new-completed-held',
      'ap-new-pending',
      'ap-old-active-held',
      'ap-old-completed-held',
      'ap-old-pending',
    ])
    expect(await remainingIds('sessions', 'session_id')).toEqual([
      'sess-new-closed',
      'sess-new-expired',
      'sess-new-running',
      'sess-old-running',
    ])
    expect(await remainingIds('task_runs', 'task_id')).toEqual([
      'task-new-closed',
      'task-new-expired',
      'task-new-running',
      'task-old-running',
      'task-waits',
    ])
    expect(await remainingIds('tool_calls', 'call_id')).not.toContain('goal-old-completed')
    expect(await remainingIds('tool_calls', 'call_id')).toEqual(
      expect.arrayContaining(['goal-old-active', 'goal-old-completed-open', 'task-old-running']),
    )
    expect((await remainingIds('tool_calls', 'call_id')).filter(id => /task-old-(closed|expired)/.test(id))).toEqual([])
    const dead = "SELECT status, reason, resolved_by FROM approvals WHERE approval_id = 'ap-dead'"
    expect(await rowsBehind(home.root, dead)).toEqual([
      { status: 'denied', reason: 'its agent is dead', resolved_by: 'system' },
    ])
    expect((await run(home)).total).toBe(0)
  })

  it('reports in a dry run what it would remove, and removes nothing', async () => {
    await using home = await testHostWithEverything()
    await insertRows(home)
    expect(await run(home, { dry_run: true })).toMatchObject({ dry_run: true, rows: GONE, total: 11, freed_bytes: 0 })
    expect(await count(home, 'nudges')).toBe(4)
    expect(await count(home, 'approvals', "approval_id = 'ap-dead' AND status = 'pending'")).toBe(1)
  })

  it('fails if a part of the data could not be removed, after it removed the rest', async () => {
    const broken = definePlugin({
      name: 'broken',
      needs: ['retention'],
      setup(svc) {
        const piece = () => Promise.reject(new Error('the disk is full'))
        svc.add(RetentionRules, { name: 'broken', stage: -1, count: async () => 0, piece })
      },
    })
    await using home = await testHostWithEverything({ builtins: [broken] })
    await insertRows(home)
    await expect(run(home)).rejects.toThrow('the disk is full')
    expect(await count(home, 'nudges')).toBe(3)
  })

  it('removes old files of deleted agents from the trash', async () => {
    await using home = await testHostWithEverything()
    const now = home.clock.ms()
    const [old, fresh] = [`worker-1-${now - 40 * DAY}`, `worker-2-${now - 5 * DAY}`]
    const files = [`${old}/workspaces/a.txt`, `${fresh}/workspaces/a.txt`, 'mine/a.txt']
    await home.write(Object.fromEntries(files.map(file => [`.svc/trash/${file}`, 'a'])))
    expect((await run(home, { dry_run: true })).rows).toMatchObject({ trash: 1 })
    expect((await run(home)).rows).toMatchObject({ trash: 1 })
    expect((await readdir(join(home.root, '.svc/trash'))).sort()).toEqual(['mine', fresh])
  })

  it('expires sessions that have been idle for server.session_ttl_hours', async () => {
    await using home = await testHostWithEverything({ config: { server: { session_ttl_hours: 24 } } })
    await insertRows(home)
    expect((await run(home)).rows).toMatchObject({ expired_sessions: 2 })
    expect(await count(home, 'sessions', "status = 'running'")).toBe(0)
  })

  it('sums up costs of model calls before their removal, so that all totals and approximate parts stay the same', async () => {
    await using home = await testHostWithEverything()
    const { id } = home
    const at = home.clock.ms() - 40 * DAY
    const status = () => home.kernel.invoke('budget.status') as Promise<BudgetStatus>
    const fill = (window: string, from: number) =>
      writeDirectly(
        home.root,
        `INSERT INTO spend (call_id, agent_id, root_agent_id, kind, model, cost_micros, input_tokens, output_tokens, priced, estimated,
           attempts, duration_ms, at, budget_window) SELECT 'c-' || i, ?, CASE WHEN i % 2 = 1 THEN 'boss' ELSE ? END,
           CASE WHEN i % 3 = 0 THEN 'task' ELSE 'goal_pursuit' END, 'm', i, 10, 1, 'catalogue', CASE WHEN i % 5 = 0 THEN 1 ELSE 0 END, 1, 5, ?, ${window}
         FROM ${numbers(from, 1500)}`,
        id,
        id,
        at,
      )
    const first = await status()
    await fill('1', 0)
    await writeDirectly(home.root, 'UPDATE budget SET budget_window = 2')
    await fill('2', 5000)
    const sums = () =>
      rowsBehind(
        home.root,
        'SELECT kind, root_agent_id, sum(cost_micros) AS micros, sum(input_tokens) AS tokens, sum(attempts) AS n FROM spend GROUP BY 1, 2 ORDER BY 1, 2',
      )
    const [before, cost, approximate] = [await sums(), (await detail(home, id)).cost_usd, (await status()).approximate]
    expect((await run(home)).rows).toMatchObject({ spend: 3000 })
    expect(await sums()).toEqual(before)
    expect((await detail(home, id)).cost_usd).toBe(cost)
    expect(await count(home, 'spend', 'budget_window = 2')).toBe(8)
    expect(await count(home, 'spend', 'budget_window < 2')).toBe(4)
    expect(await status()).toMatchObject({ spent: first.spent, approximate })
    // The next rows are added to the same sums, and these to the sums of all past windows.
    await fill('2', 10_000)
    expect((await run(home)).rows).toMatchObject({ spend: 1500 })
    expect(await count(home, 'spend')).toBe(12)
    const all = await sums()
    await writeDirectly(home.root, 'UPDATE budget SET budget_window = 3')
    expect((await run(home)).rows).toMatchObject({ spend: 8 })
    expect(await sums()).toEqual(all)
    expect(await count(home, 'spend')).toBe(4)
  })

  it('keeps the history of spending by day, kind and model, and its number of calls', async () => {
    await using home = await testHostWithEverything()
    const from = home.clock.ms() - 60 * DAY
    await writeDirectly(
      home.root,
      `INSERT INTO spend (call_id, agent_id, root_agent_id, kind, model, cost_micros, input_tokens, output_tokens, priced, estimated,
         attempts, duration_ms, at) SELECT 'c-' || i, ?, ?, 'task', 'm' || i % 2, i, 10, 1, 'catalogue', 0, 1, 5, ? + i * ${DAY / 10}
       FROM ${numbers(0, 200)}`,
      home.id,
      home.id,
      from,
    )
    const history = async () => {
      const since = new Date(from - DAY).toISOString()
      const by = ['kind', 'model', 'agent'].map(by =>
        home.kernel.invoke('budget.spending', { bucket: 'day', by, since }),
      )
      return Promise.all(by)
    }
    const summed = async () => {
      const since = new Date(from - DAY).toISOString()
      const { model_calls, cost_usd } = (await home.kernel.invoke('summary.show', { since })) as Summary
      return { model_calls, cost_usd }
    }
    const before = [await history(), await summed()]
    expect(before[1]).toMatchObject({ model_calls: 200 })
    expect((await run(home)).rows).toMatchObject({ spend: 200 })
    expect(await count(home, 'spend')).toBeLessThan(50)
    expect([await history(), await summed()]).toEqual(before)
  })

  it('keeps each call of a goal that is active or ended lately, so that its cost is complete or absent', async () => {
    await using home = await testHostWithEverything()
    const goals: Goal[] = []
    for (const objective of ['Go on', 'Was long', 'Was short'])
      goals.push((await home.kernel.invoke('goals.add', { id: home.id, objective })) as Goal)
    const [active, long, short] = goals.map(({ goal_id }) => goal_id)
    for (const goal_id of [long, short]) await home.kernel.invoke('goals.abandon', { goal_id })
    const now = home.clock.ms()
    await writeDirectly(home.root, 'UPDATE goals SET completed_at = ? WHERE goal_id = ?', now - 41 * DAY, short)
    const calls = [active, long, short].map((goal_id, n) => [goal_id, now - (40 + n) * DAY] as const)
    for (const [n, [goal_id, at]] of [...calls, [long, now - DAY] as const].entries())
      await writeDirectly(
        home.root,
        `INSERT INTO spend (call_id, agent_id, root_agent_id, goal_id, kind, model, cost_micros, input_tokens, output_tokens, priced,
           estimated, attempts, duration_ms, at) VALUES (?, ?, ?, ?, 'goal_pursuit', 'm', 1000000, 10, 1, 'catalogue', 0, 1, 5, ?)`,
        `call-${n}`,
        home.id,
        home.id,
        goal_id,
        at,
      )
    expect((await run(home, { dry_run: true })).rows).toMatchObject({ spend: 1 })
    expect((await run(home)).rows).toMatchObject({ spend: 1 })
    const costs = goals.map(
      async ({ goal_id }) => ((await home.kernel.invoke('goals.get', { goal_id })) as Goal).cost_usd,
    )
    expect(await Promise.all(costs)).toEqual([1, 2, null])
  })

  it('removes tasks without a session, whose own sessions nothing else ends', async () => {
    await using home = await testHostWithEverything()
    const [at, task] = [home.clock.ms() - 40 * DAY, { id: home.id, instruction: 'Do it.' }]
    await home.kernel.invoke('tasks.run', task)
    await home.kernel.invoke('tasks.run', { ...task, session_key: 'kept' })
    await home.kernel.invoke('sessions.create', { agent_id: home.id })
    for (const [table, columns] of [
      ['sessions', ['created_at', 'last_active']],
      ['task_runs', ['created_at', 'ended_at']],
    ] as const) {
      await writeDirectly(home.root, `UPDATE ${table} SET ${columns.map(name => `${name} = ?`).join(', ')}`, at, at)
    }
    const gone = { expired_sessions: 1, task_runs: 1 }
    expect((await run(home, { dry_run: true })).rows).toMatchObject(gone)
    expect((await run(home)).rows).toMatchObject(gone)
    expect(await count(home, 'sessions', "status = 'running'")).toBe(2)
  })

  it('keeps the newest events and those still in use; a request for older ones names the first available', async () => {
    await using home = await testHostWithEverything()
    const inRun =
      "INSERT INTO events (type, v, at, agent_id, run_id, data) VALUES ('old', 1, 0, NULL, 'run-slow', '{}')"
    const open = "INSERT INTO runs (run_id, kind, pid, started_at, facts) VALUES (?, 'task', ?, 0, '{}')"
    await allBehind(home.root, [
      // A run without events.
      [open, 'run-still', process.pid],
      [open, 'run-slow', process.pid],
      [`INSERT INTO events (type, v, at, agent_id, data) SELECT 'old', 1, 0, NULL, '{}' FROM ${numbers(0, 500)}`],
      [inRun],
      [`INSERT INTO events (type, v, at, agent_id, data) SELECT 'old', 1, 0, NULL, '{}' FROM ${numbers(0, 11_499)}`],
      ['UPDATE events SET at = ?', home.clock.ms() - 40 * DAY],
    ])
    const newest = await count(home, 'events')
    // The event log has not been written that far.
    expect((await run(home)).rows).toMatchObject({ events: 0 })
    await until(async () => {
      await home.clock.advance(1_000)
      const sql = "SELECT value FROM plugin_values WHERE namespace = 'events'"
      return Number((await rowsBehind<{ value: string }>(home.root, sql))[0]?.value) >= 12_000
    })
    const before = String(await home.kernel.invoke('metrics.get'))
    // Totals of the running run do not include these events yet.
    await run(home)
    const [first] = await rowsBehind<{ run_id: string }>(home.root, 'SELECT run_id FROM events ORDER BY seq LIMIT 1')
    expect(first).toEqual({ run_id: 'run-slow' })
    await writeDirectly(home.root, "UPDATE runs SET counted_seq = 20000 WHERE run_id = 'run-slow'")
    const { rows } = await run(home)
    expect(rows.events).toBeGreaterThanOrEqual(newest - 10_000 - 510)
    expect(await count(home, 'events')).toBeLessThanOrEqual(10_010)
    const total = (text: string) => /svc_events_total\{type="old"\} (\d+)/.exec(text)?.[1]
    expect(total(before)).toBe('12000')
    expect(total(String(await home.kernel.invoke('metrics.get')))).toBe('12000')
    const follow = async (after: number) => {
      const stream = (await home.kernel.invoke('events.follow', { after, follow: false })) as AsyncIterable<{
        id: string
      }>
      for await (const event of stream) return event
    }
    const [oldest] = await rowsBehind<{ seq: number }>(home.root, 'SELECT min(seq) AS seq FROM events')
    await expect(follow(5)).rejects.toMatchObject({
      code: 'events_gone',
      status: 410,
      message: expect.stringContaining(`after=${oldest!.seq - 1}`),
    })
    for (const after of [0, oldest!.seq - 1]) expect((await follow(after))?.id).toBe(String(oldest!.seq - 1))
  })

  it('runs every interval_cycles heartbeats while it is enabled, and reports what it removed', async () => {
    await using home = await testHostWithEverything({ config: { retention: { enabled: true, interval_cycles: 3 } } })
    await insertRows(home)
    await home.kernel.invoke('agents.pause', { id: home.id })
    home.kernel.heartbeat.start()
    await waitUntilIdle(home)
    expect(await count(home, 'nudges', "nudge_id = 'old-read'")).toBe(1)
    const done = until(home, 'retention_done')
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(await done).toMatchObject({ total: 11, rows: GONE })
    await home.kernel.config.patch({ retention: { enabled: false } })
    await furnishNudge(home)
    for (let n = 0; n < 6; n++) await runHeartbeat(home)
    expect(await count(home, 'nudges', "nudge_id = 'late'")).toBe(1)
  })

  it('keeps max_runs of the runs that have ended every interval_cycles heartbeats, also while it is disabled', async () => {
    await using home = await testHostWithEverything({ config: { retention: { max_runs: 2, interval_cycles: 3 } } })
    await insertRows(home)
    const { Runs } = await import('#observability/runs/contract')
    const runs = home.kernel.use(Runs)
    for (let n = 0; n < 4; n++) {
      await runs.end(await runs.begin('task'), 'done')
      await home.clock.advance(1_000)
    }
    const ended = () => count(home, 'runs', 'ended_at IS NOT NULL')
    expect(await ended()).toBeGreaterThanOrEqual(4)
    home.kernel.heartbeat.start()
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    await until(async () => (await ended()) === 2)
    expect(await count(home, 'nudges', "nudge_id = 'old-read'")).toBe(1)
  })

  it('keeps max_runs of the runs that have ended', async () => {
    await using home = await testHostWithEverything({ config: { retention: { max_runs: 2 } } })
    const { Runs } = await import('#observability/runs/contract')
    const book = home.kernel.use(Runs)
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      ids.push(await book.begin('task'))
      await home.clock.advance(1_000)
      if (n < 4) await book.end(ids[n]!, 'done')
    }
    await home.clock.advance(2_000)
    expect((await run(home, { dry_run: true })).rows.runs).toBe(2)
    expect((await run(home)).rows.runs).toBe(2)
    const left = (await home.kernel.invoke('runs.list')) as { run_id: string }[]
    expect(left.map(each => each.run_id)).toEqual([ids[4], ids[3], ids[2]])
  })
})

async function furnishNudge(home: TestHost & { id: string }): Promise<void> {
  const at = home.clock.ms() - 40 * DAY
  const sql = "INSERT INTO nudges (nudge_id, agent_id, message, created_at, delivered_at) VALUES ('late', ?, 'm', ?, ?)"
  await writeDirectly(home.root, sql, home.id, at, at)
}

it.skipIf(ON_POSTGRES)(
  'retention uses the same SQL statements for any number of rows, so that they stay prepared',
  async () => {
    await using home = await testHostWithEverything()
    const at = home.clock.ms() - 40 * DAY
    const asked = vi.spyOn(Database.prototype, 'run')
    onTestFinished(() => asked.mockRestore())
    const removing = async (many: number) => {
      await writeDirectly(
        home.root,
        `INSERT INTO nudges (nudge_id, agent_id, message, created_at, delivered_at) SELECT 'n-' || i, ?, 'm', ?, ? FROM ${numbers(0, many)}`,
        home.id,
        at,
        at,
      )
      asked.mockClear()
      expect((await run(home)).rows).toMatchObject({ nudges: many })
      return new Set(asked.mock.calls.map(([{ sql }]) => sql))
    }
    const few = await removing(1)
    expect(await removing(7)).toEqual(few)
  },
)

describe.skipIf(ON_POSTGRES)('the database file', () => {
  it('shrinks without blocking the event loop for 50 ms', async () => {
    await using home = await testHostWithEverything({ clock: 'system' })
    const at = Date.now() - 40 * DAY
    await writeDirectly(
      home.root,
      `INSERT INTO nudges (nudge_id, agent_id, message, created_at, delivered_at)
       SELECT 'n-' || i, ?, ?, ?, ? FROM ${numbers(0, 40_000)}`,
      home.id,
      'x'.repeat(800),
      at,
      at,
    )
    const file = `${home.root}/.svc/svc.db`
    // How long the loop was blocked, limited to this process's CPU time: other programs on the machine do not count.
    const holds: number[] = []
    const cpuTime = () => Object.values(process.cpuUsage()).reduce((sum, micros) => sum + micros, 0) / 1000
    let last = { at: performance.now(), worked: cpuTime() }
    const timer = setInterval(() => {
      const now = { at: performance.now(), worked: cpuTime() }
      holds.push(Math.min(now.at - last.at - 5, now.worked - last.worked))
      last = now
    }, 5)
    const report = await run(home)
    clearInterval(timer)
    expect(report.rows).toMatchObject({ nudges: 40_000 })
    expect(report.freed_bytes).toBeGreaterThan(20_000_000)
    expect(Math.max(...holds)).toBeLessThan(50)
    const checkpoint = new Sqlite(file)
    checkpoint.pragma('wal_checkpoint(TRUNCATE)')
    checkpoint.close()
    expect(statSync(file).size).toBeLessThan(12_000_000)
  })

  it('has incremental vacuum enabled, also when an early version created it', async () => {
    const dir = await tempDir()
    await dir.write({ '.svc/config.yaml': '' })
    const early = new Sqlite(`${dir.path}/.svc/svc.db`)
    early.exec(`${MIGRATIONS[0]!.sql}; PRAGMA user_version = 1; PRAGMA application_id = ${0x73766331}`)
    expect(early.pragma('auto_vacuum', { simple: true })).toBe(0)
    early.close()
    await using home = await testHostWithModel(() => goalAnswer(''), { root: dir.path, builtins: OTHERS })
    await using fresh = await testHostWithEverything()
    for (const { root } of [home, fresh]) {
      const database = new Sqlite(`${root}/.svc/svc.db`)
      expect(database.pragma('auto_vacuum', { simple: true })).toBe(2)
      database.close()
    }
  })

  it('is cleaned up only while its log is short; a reader that keeps the log long delays this, but not forever', async () => {
    await using home = await testHostWithEverything()
    const at = home.clock.ms() - 40 * DAY
    await writeDirectly(
      home.root,
      `INSERT INTO nudges (nudge_id, agent_id, message, created_at, delivered_at)
       SELECT 'n-' || i, ?, ?, ?, ? FROM ${numbers(0, 20_000)}`,
      home.id,
      'x'.repeat(800),
      at,
      at,
    )
    const reader = new Sqlite(`${home.root}/.svc/svc.db`)
    reader.pragma('wal_checkpoint(TRUNCATE)')
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM nudges').get()
    await writeDirectly(home.root, "INSERT INTO plugin_values VALUES ('test', 'long', hex(zeroblob(?)))", 7_300_000)
    const { pending } = home.clock
    const running = run(home)
    await until(() => home.clock.pending > pending)
    const left = await count(home, 'nudges')
    expect(left).toBeGreaterThan(10_000)
    expect(statSync(`${home.root}/.svc/svc.db-wal`).size).toBeLessThan(16 * 1024 * 1024)
    await home.clock.advance(9_000)
    expect(await count(home, 'nudges')).toBe(left)
    for (let s = 0; s < 300 && (await count(home, 'nudges')) === left; s++) await home.clock.advance(1_000)
    expect(await count(home, 'nudges')).toBeLessThan(left)
    reader.close()
    await home.clock.advance(50)
    expect((await running).rows).toMatchObject({ nudges: 20_000 })
  })

  it('has a large write-ahead log truncated as soon as no reader needs it', async () => {
    await using home = await testHostWithEverything()
    await home.kernel.invoke('agents.pause', { id: home.id })
    home.kernel.heartbeat.start()
    await waitUntilIdle(home)
    const reader = new Sqlite(`${home.root}/.svc/svc.db`)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM agents').get()
    for (let n = 0; n < 50; n++) {
      const { Store, setValue } = await import('#platform/store/contract')
      await home.kernel.use(Store).apply([setValue({ namespace: 't', key: 'k', value: String(n).repeat(200_000) })])
    }
    const log = () => statSync(`${home.root}/.svc/svc.db-wal`).size
    expect(log()).toBeGreaterThan(16 * 1024 * 1024)
    await runHeartbeat(home)
    reader.exec('COMMIT')
    reader.close()
    await runHeartbeat(home)
    expect(log()).toBeLessThan(1024 * 1024)
  })
})
