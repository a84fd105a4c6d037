import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { Operations } from '#kernel'
import { Runs } from '#observability/runs/contract'
import runs from '#observability/runs/index'
import retention from '#platform/retention/index'
import { appendEvent, Store } from '#platform/store/contract'
import { bookSpend } from '#safety/budget/contract'
import { ON_POSTGRES, writeDirectly } from '../../support/direct-access.ts'
import { refuse, runHeartbeat, text, toolCall, until, waitUntilIdle } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { spawn, testHostWithModel } from '../core/models/model-host.ts'
import { run as runTask, testHostWithTasks } from '../core/tasks/tasks-host.ts'
import {
  finish,
  listRuns,
  logFiles,
  logText,
  numberedGoals,
  run,
  running,
  spans,
  trace,
  write,
  writes,
} from './runs-host.ts'

type Home = Awaited<ReturnType<typeof running>>

/** Runs one agent until it reaches a goal. */
async function runToGoal(home: Home): Promise<string> {
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'goal_completed')
  await home.kernel.heartbeat.stop()
  return id
}

/** Opens the same test host as a later process. */
const again = (home: Pick<Home, 'root' | 'clock' | 'seed'>) =>
  testHostWithModel(numberedGoals(finish), {
    root: home.root,
    clock: home.clock,
    seed: home.seed + 1,
    builtins: [runs],
  })

describe('a trace', () => {
  it('is a tree of run, agent, goal, decisions and tool calls, with times, tokens and cost', async () => {
    await using home = await running([write, finish])
    const id = await runToGoal(home)
    const { root, complete, left_out, broken_lines, total_spans } = await trace(home, home.run_id)
    const [agent] = root.children
    expect(root).toMatchObject({
      span_id: home.run_id,
      parent_id: null,
      kind: 'run',
      status: 'running',
      end_time: null,
    })
    expect(agent).toMatchObject({ kind: 'agent', name: id, parent_id: home.run_id })
    const [found, goal] = agent?.children ?? []
    expect(found).toMatchObject({ kind: 'decision', attributes: { decision_type: 'goal_generation' } })
    expect(goal).toMatchObject({
      kind: 'goal',
      name: 'Write piece number 1, all b1 of it',
      status: 'completed',
      attributes: {
        objective: 'Write piece number 1, all b1 of it',
        event: 'completed',
        steps_done: 2,
        steps_failed: 0,
      },
    })
    expect(goal?.children.map(({ kind }) => kind)).toEqual(['decision', 'tool', 'decision'])
    expect(goal?.children.map(({ attributes }) => attributes.step_index)).toEqual([1, 1, 2])
    expect(goal?.children[1]).toMatchObject({
      name: 'file_write',
      status: 'ok',
      attributes: {
        params: '{"path":"piece.md","content":"words"}',
        error: null,
        output: expect.stringContaining('piece'),
      },
    })
    const all = spans(root)
    expect(total_spans).toBe(all.length)
    expect(new Set(all.map(({ span_id }) => span_id)).size).toBe(all.length)
    for (const span of all.slice(1)) {
      expect(span.end_time, span.name).not.toBeNull()
      expect(Date.parse(span.start_time)).toBeLessThanOrEqual(Date.parse(span.end_time as string))
    }
    const billed = home.server.bill.reduce((sum, entry) => sum + entry.input_tokens + entry.output_tokens, 0)
    expect([root.tokens, agent?.tokens, (found?.tokens ?? 0) + (goal?.tokens ?? 0)]).toEqual([billed, billed, billed])
    expect({ complete, left_out, broken_lines }).toEqual({ complete: true, left_out: 0, broken_lines: 0 })
  })

  it('starts agents and goals no later than their children', async () => {
    const script = numberedGoals(write, finish)
    await using home = await testHostWithModel(
      async request => {
        await home.clock.advance(2_000)
        return script(request)
      },
      { builtins: [runs] },
    )
    const run_id = await home.kernel.use(Runs).begin('daemon')
    const id = await spawn(home)
    await home.kernel.invoke('goals.add', { id, objective: 'Write a piece about the sea' })
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    await home.kernel.heartbeat.stop()
    const { root } = await trace(home, run_id)
    const around = spans(root).filter(({ children }) => children.length > 0)
    expect(around.map(({ kind }) => kind)).toEqual(['run', 'agent', 'goal'])
    for (const { kind, start_time, children } of around)
      expect(start_time <= (children[0]?.start_time ?? ''), `${kind} ${start_time}`).toBe(true)
  })

  it('shows errors of tools, and cycles whose model gave no answer', async () => {
    await using home = await running([toolCall('file_read', { path: 'none.md' }), finish])
    await runToGoal(home)
    home.server.enqueue(refuse(401, 'no'))
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    const { root } = await trace(home, home.run_id)
    const tool = spans(root).find(({ kind }) => kind === 'tool')
    expect(tool).toMatchObject({
      status: 'error',
      attributes: { output: null, error: expect.stringContaining('none.md') },
    })
    expect(root.children[1]?.attributes).toMatchObject({
      cycles: { error: 1 },
      last_error: expect.stringContaining('no answer'),
    })
  })

  it('of a long run comes in parts that count what was left out and together are complete', async () => {
    await using home = await running([...writes, finish])
    await runToGoal(home)
    const whole = await trace(home, home.run_id)
    const seen: string[] = []
    let after: number | null = 0
    let parts = 0
    while (after !== null) {
      const part = await trace(home, home.run_id, { limit: 2, after })
      const leaves = spans(part.root).filter(({ kind }) => kind === 'decision' || kind === 'tool')
      expect(leaves.length).toBeLessThanOrEqual(2)
      expect(part.left_out).toBe(8 - leaves.length)
      expect(part.complete).toBe(false)
      seen.push(...leaves.map(({ span_id }) => span_id))
      after = part.next_after
      parts++
    }
    const leaves = spans(whole.root).filter(({ kind }) => kind === 'decision' || kind === 'tool')
    expect(seen.sort()).toEqual(leaves.map(({ span_id }) => span_id).sort())
    expect(seen).toHaveLength(8)
    expect(parts).toBeGreaterThan(3)
  })

  it('of one agent leaves out all others', async () => {
    await using home = await running([finish])
    const first = await runToGoal(home)
    const named = await trace(home, home.run_id, { agent_id: 'worker' })
    expect(named.root.children.map(({ name }) => name)).toEqual([first])
    const second = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed', ({ agent_id }) => agent_id === second)
    const { root, left_out } = await trace(home, home.run_id, { agent_id: second })
    expect(root.children.map(({ name }) => name)).toEqual([second])
    expect(left_out).toBe(0)
    expect((await trace(home, home.run_id)).root.children.map(({ name }) => name)).toEqual([first, second])
    await expect(trace(home, home.run_id, { agent_id: 'worker' })).rejects.toMatchObject({ code: 'ambiguous_agent' })
  })

  it('keeps deleted agents', async () => {
    await using home = await running([write, finish])
    const id = await runToGoal(home)
    const before = await trace(home, home.run_id)
    await home.kernel.invoke('agents.delete', { id })
    expect(await trace(home, home.run_id)).toEqual(before)
    expect(await run(home, home.run_id)).toMatchObject({
      agents: 1,
      agent_ids: [id],
      goals_completed: 1,
      tool_calls: 1,
    })
  })
})

describe('a run', () => {
  it('has totals of its goals, calls, tokens and agents', async () => {
    await using home = await running([write, finish])
    const id = await runToGoal(home)
    await home.clock.advance(3_000)
    const billed = home.server.bill.reduce((sum, entry) => sum + entry.input_tokens + entry.output_tokens, 0)
    const found = await run(home, home.run_id)
    expect(found).toMatchObject({
      run_id: home.run_id,
      kind: 'daemon',
      status: 'running',
      agents: 1,
      agent_ids: [id],
      ended_at: null,
      exit: null,
      goals_generated: 1,
      goals_completed: 1,
      goals_abandoned: 0,
      model_calls: 3,
      tool_calls: 1,
      tool_failures: 0,
      tokens: billed,
      model: 'openai:scripted',
      heartbeat: 10,
      seed: home.seed,
      profiles: expect.arrayContaining(['worker']),
    })
    expect(found.duration_s).toBeGreaterThanOrEqual(3)
    expect(found.agents_seen[0]).toMatchObject({ agent_id: id, name: 'worker', tokens: billed, model_calls: 3 })
    expect(found.plugins.map(({ name }) => name)).toContain('runs')
    expect(found.tools).toContain('file_write')
    const spent = await home.kernel
      .use(Store)
      .all<{ run_id: string }>('SELECT run_id FROM spend UNION ALL SELECT run_id FROM tool_calls')
    expect(new Set(spent.map(({ run_id }) => run_id))).toEqual(new Set([home.run_id]))
  })

  it('has a manifest that gains new agents and records how the run ended', async () => {
    await using home = await running()
    const file = join(home.root, 'logs/runs', home.run_id, 'manifest.json')
    const manifest = async () => {
      await trace(home, home.run_id)
      return JSON.parse(await readFile(file, 'utf8'))
    }
    expect(home.run_id).toMatch(/^run-20260101-000000-[0-9a-f]{6}$/)
    expect(await manifest()).toMatchObject({
      run_id: home.run_id,
      kind: 'daemon',
      seed: home.seed,
      heartbeat: 10,
      default_model: 'openai:scripted',
      node: process.version,
      svc_version: '0.1.0',
      started_at: '2026-01-01T00:00:00.000Z',
      ended_at: null,
      agents: [],
      model_config: { idle_timeout: 30 },
    })
    const { mtimeMs } = await stat(file)
    await home.clock.advance(5_000)
    await manifest()
    expect((await stat(file)).mtimeMs, 'nothing is written while nothing happens').toBe(mtimeMs)
    const id = await spawn(home)
    await home.clock.advance(1_000)
    await until(async () => (await manifest()).agents.length === 1)
    expect((await manifest()).agents[0]).toMatchObject({ agent_id: id, name: 'worker' })
    await home.kernel.use(Runs).end(home.run_id, 'stopped')
    expect(await manifest()).toMatchObject({ exit: 'stopped', ended_at: '2026-01-01T00:00:06.000Z' })
    expect(await run(home, home.run_id)).toMatchObject({ status: 'ended', exit: 'stopped', duration_s: 6 })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it('has a log with one complete event per line; cycles without an action add nothing', async () => {
    await using home = await running([finish])
    await runToGoal(home)
    await home.kernel.invoke('agents.pause', { all: true })
    await trace(home, home.run_id)
    const lines = (await logText(home.root, home.run_id))
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    const rows = await home.kernel.use(Store).events(0, 1000)
    expect(lines).toEqual(rows)
    expect(lines.map(({ type }) => type)).toEqual([
      'agent_spawned',
      'model_called',
      'goal_generated',
      'cycle_done',
      'model_called',
      'goal_completed',
      'cycle_done',
      'agent_changed',
    ])
    home.kernel.heartbeat.start()
    await runHeartbeat(home)
    await runHeartbeat(home)
    expect(await home.kernel.use(Store).events(0, 1000)).toHaveLength(rows.length)
  })

  it('has no failure for a cycle that the end of the daemon interrupted', async () => {
    let asked = 0
    const never = () => new Promise<never>(() => void asked++)
    await using home = await testHostWithModel(never, { builtins: [runs] })
    const agent_id = await spawn(home)
    const written = appendEvent({ type: 'agent_changed', agent_id, data: { agent_id } })
    const writes = (cycle: unknown) => void (cycle as { effects: unknown[] }).effects.push(written)
    home.kernel.hooks.get('cleanup').tap('writes', writes)
    home.kernel.heartbeat.start()
    await until(() => asked > 0)
    const stopped = home.kernel.heartbeat.stop()
    await home.clock.advance(60_000)
    await stopped
    const ends = (await home.kernel.use(Store).events(0, 100)).filter(({ type }) => type === 'cycle_done')
    expect(ends.map(({ data }) => data)).toEqual([expect.not.objectContaining({ error: expect.anything() })])
  })

  it('of a dead daemon is shown as crashed, also while no daemon runs', async () => {
    const home = await running([finish])
    await runToGoal(home)
    // No process has this PID: it exceeds the system's maximum.
    await writeDirectly(home.root, 'UPDATE runs SET pid = 99999999')
    await using _ = home
    await using next = await again(home)
    await home.clock.advance(5_000)
    expect(await listRuns(next)).toMatchObject([
      { run_id: home.run_id, status: 'crashed', exit: 'crashed', goals_completed: 1 },
    ])
    const second = await next.kernel.use(Runs).begin('daemon')
    expect((await listRuns(next)).map(({ run_id, status }) => [run_id, status])).toEqual([
      [second, 'running'],
      [home.run_id, 'crashed'],
    ])
    // Its end is its last known activity, not the time of the check.
    expect((await run(next, home.run_id)).duration_s).toBeLessThan(5)
    expect((await trace(next, home.run_id)).root.status).toBe('crashed')
  })

  it('of a task is separate from the run of the daemon', async () => {
    await using home = await running([finish])
    const id = await runToGoal(home)
    const task = await home.kernel.use(Runs).begin('task', { agent_id: id, task_id: 'task-1', model: 'openai:other' })
    const used = { agent_id: id, goal_id: null, tool: 'file_read', ok: true, call_id: 'c', step: 1 }
    const spend = { call_id: 'call-1', model: 'openai:other', cost_micros: 1_250, input_tokens: 100, output_tokens: 5 }
    await home.kernel.use(Store).apply([
      appendEvent({ type: 'tool_result', agent_id: id, run_id: task, data: used }),
      ...[1, 2].map(() =>
        bookSpend({
          ...spend,
          agent_id: id,
          goal_id: null,
          run_id: task,
          step: 1,
          kind: 'task',
          priced: 'catalogue',
          estimated: false,
          attempts: 1,
          duration_ms: 900,
        }),
      ),
    ])
    await home.kernel.use(Runs).end(task, 'completed')
    expect(await run(home, task)).toMatchObject({
      kind: 'task',
      status: 'ended',
      exit: 'completed',
      tool_calls: 1,
      model_calls: 1,
      tokens: 105,
      cost_usd: 0.00125,
      model: 'openai:other',
      task_id: 'task-1',
      agent_id: id,
      heartbeat: null,
    })
    expect((await run(home, home.run_id)).tool_calls).toBe(0)
    expect((await trace(home, task)).root.children[0]?.children.map(({ name }) => name)).toEqual([
      'file_read',
      'openai:other',
    ])
  })

  it('is created for a one-shot task, with its decisions, tool calls and cost', async () => {
    const steps = [write, text('It is written.')]
    await using home = await testHostWithTasks(() => steps.shift(), {
      builtins: [runs],
      config: { tasks: { toolkits: ['file'] } },
    })
    const id = await spawn(home)
    const { task_id, status, tokens } = await runTask(home, id, 'Write it down')
    const [only, ...none] = await listRuns(home)
    expect([status, none]).toEqual(['completed', []])
    expect(only).toMatchObject({
      kind: 'task',
      status: 'ended',
      exit: 'completed',
      model_calls: 2,
      tool_calls: 1,
      tokens,
    })
    expect(await run(home, only?.run_id as string)).toMatchObject({ task_id, agent_id: id, agent_ids: [id] })
    const { root } = await trace(home, only?.run_id as string)
    expect(root.children[0]?.children.map(({ kind, name }) => [kind, name])).toEqual([
      ['decision', 'openai:scripted'],
      ['tool', 'file_write'],
      ['decision', 'openai:scripted'],
    ])
  })

  it('of a task is written within a second, at once on request, and after a crash', async () => {
    await using home = await testHostWithTasks(() => text('Done.'), { builtins: [runs] })
    const id = await spawn(home)
    const task = async () => {
      const { task_id } = await runTask(home, id, 'Say done.')
      const ended = "SELECT run_id FROM events WHERE type = 'task_ended' ORDER BY seq DESC LIMIT 1"
      return { task_id, ...(await home.kernel.use(Store).get<{ run_id: string }>(ended))! }
    }
    const files = async (run_id: string) => {
      const manifest = await readFile(join(home.root, 'logs/runs', run_id, 'manifest.json'), 'utf8').catch(() => 'null')
      const log = await logText(home.root, run_id).catch(() => '')
      return { manifest: JSON.parse(manifest), events: [...log.matchAll(/"type":"(\w+)"/g)].map(([, type]) => type) }
    }
    const whole = ({ task_id, run_id }: Awaited<ReturnType<typeof task>>) => ({
      manifest: {
        run_id,
        task_id,
        kind: 'task',
        exit: 'completed',
        seed: home.seed,
        agents: [{ agent_id: id }],
        svc_version: '0.1.0',
        model_config: { idle_timeout: 30 },
        tools: expect.arrayContaining(['file_write']),
      },
      events: ['task_started', 'model_called', 'task_ended'],
    })
    const [first, second] = [await task(), await task()]
    expect(await files(second.run_id)).toEqual({ manifest: null, events: [] })
    await home.clock.advance(1_000)
    await until(async () => (await files(second.run_id)).manifest !== null)
    for (const each of [first, second]) expect(await files(each.run_id)).toMatchObject(whole(each))

    const [third, fourth] = [await task(), await task()]
    await using other = await again(home)
    expect((await listRuns(other)).find(({ run_id }) => run_id === third.run_id)).toMatchObject({ model_calls: 1 })
    expect(await run(other, fourth.run_id)).toMatchObject({ model_calls: 1, agent_ids: [id], task_id: fourth.task_id })
    for (const each of [third, fourth]) expect(await files(each.run_id)).toMatchObject(whole(each))

    const lost = await task()
    await writeDirectly(home.root, 'UPDATE runs SET pid = 99999999 WHERE run_id = ?', lost.run_id)
    await using next = await again(home)
    await until(async () => (await files(lost.run_id)).manifest !== null)
    expect(await files(lost.run_id)).toMatchObject(whole(lost))
    expect(next.root).toBe(home.root)
  })

  it('of a running task is written after 30 s, and not before', async () => {
    await using home = await testHostWithTasks(() => text('Done.'), { builtins: [runs] })
    const [id, { kernel, clock, root }] = [await spawn(home), home]
    const run_id = await kernel.use(Runs).begin('task', { agent_id: id })
    const used = { agent_id: id, goal_id: null, tool: 'notes', call_id: 'c', ok: true, duration_ms: 1 }
    await kernel
      .use(Store)
      .apply([
        appendEvent({ type: 'tool_result', agent_id: id, run_id, data: { ...used, arguments: {}, outcome: '' } }),
      ])
    await clock.advance(29_000)
    // Finished tasks are written in each round, so this one shows that the round has run.
    await runTask(home, id, 'Say done.')
    await clock.advance(1_000)
    const folder = (run_id: string) => logFiles(root, run_id).catch(() => [])
    const [over] = (await kernel
      .use(Store)
      .all<{ run_id: string }>('SELECT run_id FROM runs WHERE ended_at IS NOT NULL'))!
    await until(async () => (await folder(over!.run_id)).length > 0)
    expect(await folder(run_id)).toEqual([])
    await clock.advance(1_000)
    await until(async () => (await folder(run_id)).length > 0)
    expect(await logText(root, run_id)).toMatch(/"type":"tool_result"/)
  })

  it('is also shown by another process', async () => {
    await using home = await running([finish])
    await runToGoal(home)
    await home.clock.advance(1_000)
    await until(async () => (await logFiles(home.root, home.run_id)).length > 0)
    await using other = await again(home)
    expect(await listRuns(other)).toMatchObject([{ run_id: home.run_id, status: 'running', goals_completed: 1 }])
    expect((await trace(other, home.run_id)).total_spans).toBe((await trace(home, home.run_id)).total_spans)
    // Actions of other processes during the run belong to it.
    const newcomer = await spawn(other)
    expect((await run(home, home.run_id)).agent_ids).toContain(newcomer)
  })
})

describe('the log of a run', () => {
  it('continues in another file when one is long, and can be read from any position across files', async () => {
    await using home = await running([...writes, finish], { config: { runs: { rotate_mb: 0.0005 } } })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    let emitted = 0
    home.kernel.hooks.on('tool_result', async () => {
      emitted++
      await trace(home, home.run_id)
    })
    await until(home, 'goal_completed')
    await waitUntilIdle(home)
    const whole = await trace(home, home.run_id)
    expect(emitted).toBe(3)
    const files = await logFiles(home.root, home.run_id)
    expect(files.length).toBeGreaterThan(2)
    expect(whole.root.children[0]?.name).toBe(id)
    const later = await trace(home, home.run_id, { after: Number(/(\d+)\.jsonl$/.exec(files[2] as string)?.[1]) - 1 })
    expect(later.broken_lines).toBe(0)
    expect(later.total_spans).toBeLessThan(whole.total_spans)
    expect(later.total_spans).toBeGreaterThan(2)
  })

  it('loses its oldest files by retention while the run goes on, and the trace counts what is left out', async () => {
    await using home = await running([...writes, finish], {
      builtins: [retention],
      config: { runs: { rotate_mb: 0.0005 } },
    })
    home.kernel.hooks.on('tool_result', async () => void (await trace(home, home.run_id)))
    await runToGoal(home)
    const whole = await trace(home, home.run_id)
    const files = await logFiles(home.root, home.run_id)
    const old = new Date(home.clock.ms() - 40 * 86_400_000)
    for (const file of [files[0]!, files[1]!, files.at(-1)!]) await utimes(file, old, old)
    expect(await home.kernel.invoke('retention.run')).toMatchObject({ rows: { run_logs: 2 } })
    expect(await logFiles(home.root, home.run_id)).toEqual(files.slice(2))
    const left = await trace(home, home.run_id)
    expect([left.broken_lines, whole.left_out, left.left_out > 0]).toEqual([0, 0, true])
    expect(left.total_spans).toBeLessThan(whole.total_spans)
  })

  it('is written to logs_dir', async () => {
    await using home = await running([finish], { env: { SVC_LOGS_DIR: 'else/where' } })
    await runToGoal(home)
    expect((await trace(home, home.run_id)).total_spans).toBeGreaterThan(3)
    expect(await logFiles(home.root, home.run_id, 'else/where')).toHaveLength(1)
  })

  it('is rebuilt from the database after its deletion', async () => {
    await using home = await running([write, finish])
    await runToGoal(home)
    const before = await trace(home, home.run_id)
    const log = await logText(home.root, home.run_id)
    await rm(join(home.root, 'logs'), { recursive: true })
    expect(await trace(home, home.run_id)).toEqual(before)
    expect(await logText(home.root, home.run_id)).toBe(log)
    await home.kernel.use(Runs).end(home.run_id, 'stopped')
    await trace(home, home.run_id)
    await rm(join(home.root, 'logs'), { recursive: true })
    await using other = await again(home)
    expect((await trace(other, home.run_id)).total_spans).toBe(before.total_spans)
  })

  it('does not stop agents when it cannot be written, and catches up afterwards', async () => {
    await using home = await running([write, finish], {
      files: { blocked: 'a file in the way' },
      env: { SVC_LOGS_DIR: 'blocked' },
    })
    await runToGoal(home)
    await home.clock.advance(5_000)
    expect(home.logged('cannot write the log of a run')).toHaveLength(1)
    expect(await run(home, home.run_id)).toMatchObject({ goals_completed: 1, tool_calls: 1 })
    await rm(join(home.root, 'blocked'))
    expect(spans((await trace(home, home.run_id)).root).map(({ kind }) => kind)).toContain('tool')
  })

  it('contains no secrets, and neither do the manifest and the trace', async () => {
    const canary = 'sk-canary-0123456789'
    await using home = await running([toolCall('file_write', { path: 'a.md', content: canary }), finish], {
      env: { OPENAI_API_KEY: canary, SVC_API_KEY: 'svc-canary-0123456789' },
      builtins: [rest],
    })
    home.server.enqueue(refuse(401, `Incorrect API key provided: ${canary}`))
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    await home.kernel.invoke('agents.nudge', { id, message: 'go on' })
    await until(async () => {
      await home.clock.advance(1_000)
      return (await run(home, home.run_id)).goals_completed > 0
    })
    const shown = JSON.stringify([await run(home, home.run_id), await trace(home, home.run_id)])
    const kept = await logText(home.root, home.run_id)
    const manifest = await readFile(join(home.root, 'logs/runs', home.run_id, 'manifest.json'), 'utf8')
    for (const each of [shown, kept, manifest]) {
      expect(each).not.toContain('canary-0123456789')
      expect(each.length).toBeGreaterThan(100)
    }
    expect(kept).toContain('***')
  })
})

describe('GET /runs', () => {
  async function listening() {
    const home = await running([finish], { builtins: [rest], clock: 'system' })
    const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
    return Object.assign(home, { get: (path: string, init?: RequestInit) => fetch(`${url}${path}`, init) })
  }

  it.skipIf(ON_POSTGRES)('answers before a write is refused that waits for the lock of another process', async () => {
    await using home = await listening()
    const id = await spawn(home)
    const other = new Sqlite(join(home.root, '.svc', 'svc.db'))
    other.exec('BEGIN IMMEDIATE')
    const answered: string[] = []
    const request = async (path: string, init?: RequestInit) => {
      const { status } = await home.get(path, init)
      answered.push(`${status} ${path}`)
    }
    const paused = request(`/agents/${id}/pause`, { method: 'POST' })
    const paths = ['/runs', `/runs/${home.run_id}`, `/runs/${home.run_id}/trace`]
    await Promise.all([paused, ...paths.map(path => request(path))])
    other.close()
    expect(answered.slice(0, 3).toSorted()).toEqual(paths.map(path => `200 ${path}`))
    expect(answered[3]).toBe(`503 /agents/${id}/pause`)
  })

  it('lists runs newest first, in pages with a total and a link to the next page', async () => {
    await using home = await listening()
    const ids = [home.run_id]
    for (const kind of ['task', 'task', 'task']) ids.unshift(await home.kernel.use(Runs).begin(kind))
    const all = (await (await home.get('/runs')).json()) as { run_id: string }[]
    expect(all.map(({ run_id }) => run_id).sort()).toEqual([...ids].sort())
    const answer = await home.get('/runs?limit=2&offset=1')
    expect(await answer.json()).toEqual(all.slice(1, 3).map(each => expect.objectContaining({ run_id: each.run_id })))
    expect(answer.headers.get('x-total-count')).toBe('4')
    expect(answer.headers.get('link')).toBe('</runs?limit=2&offset=3>; rel="next"')
    for (const bad of ['limit=0', 'limit=1001', 'offset=-1']) expect((await home.get(`/runs?${bad}`)).status).toBe(422)
  })

  it('answers 404 for an unknown run, and never reads outside the folder of runs', async () => {
    await using home = await listening()
    await trace(home, home.run_id)
    await writeFile(join(home.root, 'logs/runs/manifest.json'), '{"secret": true}')
    const strange = [
      'run-20260101-000000-abcdef',
      'nothing',
      '..%2f..%2f.svc%2fconfig.yaml',
      '..',
      '%2e%2e',
      'a%00b',
      `${'x'.repeat(400)}`,
    ]
    for (const id of strange) {
      for (const path of [`/runs/${id}`, `/runs/${id}/trace`]) {
        const answer = await home.get(path)
        expect([400, 404, 422], path).toContain(answer.status)
        expect(await answer.text(), path).not.toContain('"secret"')
      }
    }
    const answer = await home.get('/runs/run-20260101-000000-abcdef')
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([404, 'run_not_found'])
  })

  it('also serves traces, and rejects bad parameters of a trace with 422', async () => {
    await using home = await listening()
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const answer = await home.get(`/runs/${home.run_id}/trace?limit=3`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ run_id: home.run_id, complete: false, root: { kind: 'run' } })
    for (const bad of ['limit=0', 'limit=5000', 'after=-1', 'agent=x']) {
      expect((await home.get(`/runs/${home.run_id}/trace?${bad}`)).status, bad).toBe(422)
    }
  })
})

it('pruning removes the oldest ended runs with their files, but never a running one', async () => {
  await using home = await running()
  const ids: string[] = []
  for (let n = 0; n < 4; n++) {
    await home.clock.advance(1_000)
    ids.push(await home.kernel.use(Runs).begin('task'))
    await home.kernel.use(Runs).end(ids[n] as string, 'completed')
  }
  await trace(home, home.run_id)
  expect(await home.kernel.use(Runs).prune(0)).toBe(0)
  expect(await home.kernel.use(Runs).prune(2)).toBe(2)
  const left = (await listRuns(home)).map(({ run_id }) => run_id)
  expect(left).toEqual([ids[3], ids[2], home.run_id])
  await trace(home, ids[3] as string)
  const folder = (id: string) =>
    stat(join(home.root, 'logs/runs', id)).then(
      () => true,
      () => false,
    )
  expect(await Promise.all([...ids, home.run_id].map(folder))).toEqual([false, false, true, true, true])
})

it('a trace in the terminal shows text of agents on one line without control characters', async () => {
  await using home = await running([toolCall('file_write', { path: 'x\u001b[2J\n', content: 'a\nb' }), finish])
  await runToGoal(home)
  const render = home.kernel.points.find(Operations, 'runs.trace')?.render
  const lines = render?.((await trace(home, home.run_id)) as never).split('\n') ?? []
  expect(lines).toHaveLength(7)
  // The tool call and the model call that requested it.
  expect(lines.filter(line => line.includes('file_write'))).toHaveLength(2)
})
