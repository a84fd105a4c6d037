import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import rest from '#interfaces/rest/index'
import { definePlugin } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { Metrics } from '#observability/metrics/contract'
import metrics from '#observability/metrics/index'
import { LoopLag } from '#observability/metrics/machine'
import daemon from '#platform/daemon/index'
import { Store } from '#platform/store/contract'
import { listen } from '../../interfaces/rest/rest-server.ts'
import { allBehind, rowsBehind, writeDirectly } from '../../support/direct-access.ts'
import {
  fault,
  type ModelServerRequest,
  runHeartbeat,
  type TestHost,
  type TestHostOptions,
  tempDir,
  text,
  toolCall,
  waitUntilIdle,
} from '../../support/index.ts'
import { asksForGoal, spawn, testHostWithModel } from '../core/models/model-host.ts'

const GAUGES = [
  'svc_agents_working',
  'svc_agents_idle',
  'svc_agents_waiting',
  'svc_agents_paused',
  'svc_agents_dead',
  'svc_goals_active',
]

/** Makes one good and one failing tool call, then finishes the goal; the model fails at the second goal. */
function script() {
  const steps = [
    toolCall('write_notepad', { text: 'words' }),
    toolCall('read_file', { path: 'nowhere.md' }),
    toolCall('finish_goal', { summary: 'done', evidence: [] }),
  ]
  let goals = 0
  return (asked: ModelServerRequest) => {
    if (!asksForGoal(asked)) return steps.shift() ?? text('nothing more')
    return ++goals === 1 ? text('{"goal":"Write a note about the tides"}') : fault('500')
  }
}

async function startServer(options: TestHostOptions = {}) {
  const home = await testHostWithModel(script(), {
    ...options,
    builtins: [rest, daemon, metrics, ...(options.builtins ?? [])],
  })
  const { ask: get } = await listen(home.kernel)
  return Object.assign(home, { get, scrape: async () => samplesOf((await get('/metrics')).text) })
}

/** Returns the samples by name and labels, as written in the text. */
function samplesOf(exposition: string): Record<string, number> {
  const lines = exposition.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

describe.each([
  ['with the daemon in the process', ['server', 'daemon']],
  ['without a daemon', ['server']],
] as const)('%s', (_, roles) => {
  it('has the six gauges of agents and goals, even when all are 0', async () => {
    await using home = await startServer({ roles })
    const { status, headers, text } = await home.get('/metrics')
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    for (const name of GAUGES) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.*\\n# TYPE ${name} gauge\\n${name} 0$`, 'm'))
    }
    expect(samplesOf(text)).toMatchObject({ svc_daemon_up: Number(roles.length === 2), svc_daemon_frozen: 0 })
  })

  it('counts agents by their status', async () => {
    await using home = await startServer({ roles, config: { daemon: { heartbeat: 3600, max_retries: 0 } } })
    const [paused] = [await spawn(home), await spawn(home), await spawn(home)]
    if (roles.length === 2) await waitUntilIdle(home)
    await home.kernel.invoke('agents.pause', { id: paused })
    const { svc_agents_paused, svc_agents_idle } = await home.scrape()
    expect([svc_agents_paused, svc_agents_idle]).toEqual([1, 2])
    const { json } = await home.get('/agents')
    expect(json.filter(({ status }: { status: string }) => status === 'idle')).toHaveLength(2)
  })
})

describe('counters', () => {
  it('count cycles by result and duration, model calls, tokens and cost as billed, tools and their failures', async () => {
    await using home = await startServer({ config: { daemon: { max_retries: 0 } } })
    await spawn(home)
    await waitUntilIdle(home)
    await runHeartbeat(home)
    const model = 'openai:scripted'
    const found = await home.scrape()
    expect(found).toMatchObject({
      'svc_cycles_total{result="generated"}': 1,
      'svc_cycles_total{result="completed"}': 1,
      'svc_cycles_total{result="error"}': 1,
      'svc_cycle_duration_seconds_bucket{le="+Inf"}': 3,
      svc_cycle_duration_seconds_count: 3,
      [`svc_model_calls_total{model="${model}",outcome="answered"}`]: 4,
      [`svc_model_calls_total{model="${model}",outcome="failed"}`]: 1,
      'svc_tool_calls_total{tool="write_notepad"}': 1,
      'svc_tool_failures_total{tool="write_notepad"}': 0,
      'svc_tool_failures_total{tool="read_file"}': 1,
      'svc_events_total{type="goal_completed"}': 1,
    })
    const tokensBilled = (direction: 'input' | 'output') =>
      home.server.bill.slice(0, 4).reduce((sum, entry) => sum + entry[`${direction}_tokens`], 0)
    expect(found[`svc_model_tokens_total{model="${model}",direction="input"}`]).toBeGreaterThanOrEqual(
      tokensBilled('input'),
    )
    expect(found[`svc_model_tokens_total{model="${model}",direction="output"}`]).toBe(tokensBilled('output'))
    const { micros } = (await home.kernel
      .use(Store)
      .get<{ micros: number }>('SELECT sum(cost_micros) AS micros FROM spend'))!
    expect(found[`svc_model_cost_usd_total{model="${model}"}`]).toBeCloseTo(micros / 1e6, 9)
    expect(found.svc_budget_spent_usd).toBeCloseTo(micros / 1e6, 9)
    expect(found.svc_last_tick_age_seconds).toBeLessThan(10)
    expect(found['svc_plugins{state="live"}']).toBeGreaterThan(10)
    expect(found.process_resident_memory_bytes).toBeGreaterThan(1e6)
  })

  it('keep their values when agents are deleted, events are pruned, or another process serves them', async () => {
    await using dir = await tempDir()
    const config = { daemon: { max_retries: 0 } }
    const before = await startServer({ root: dir.path, config })
    const id = await spawn(before)
    await waitUntilIdle(before)
    for (let beats = 31; beats > 0; beats--) await runHeartbeat(before)
    const counted = totals(await before.scrape())
    await before.kernel.invoke('agents.delete', { id })
    expect(totals(await before.scrape())).toMatchObject(without(counted, /svc_(events|cycle)/))
    await before.close()
    // The total is saved before the events are deleted.
    const [kept] = await rowsBehind<{ value: string }>(
      dir.path,
      "SELECT value FROM plugin_values WHERE namespace = 'metrics' AND key = 'events'",
    )
    const { seq } = JSON.parse(kept!.value) as { seq: number }
    expect(await writeDirectly(dir.path, 'DELETE FROM events WHERE seq <= ?', seq)).toBeGreaterThan(5)

    await using after = await startServer({ root: dir.path, roles: ['server'], config })
    const found = await after.scrape()
    for (const [name, value] of Object.entries(counted)) expect([name, found[name]! >= value]).toEqual([name, true])
    expect(found['svc_tool_calls_total{tool="write_notepad"}']).toBe(1)
    expect(found.svc_daemon_up).toBe(0)
  })

  it('count the cycles of each process exactly once, across restarts', async () => {
    await using dir = await tempDir()
    for (let life = 1; life <= 3; life++) {
      const home = await startServer({ root: dir.path, config: { daemon: { heartbeat: 60 } } })
      if (life === 1) await spawn(home)
      await waitUntilIdle(home)
      const { svc_cycle_duration_seconds_count: cycles } = await home.scrape()
      const { n } = (await home.kernel
        .use(Store)
        .get<{ n: number }>("SELECT sum(cycle_num) AS n FROM leases WHERE kind = 'agent'"))!
      expect(cycles).toBe(n)
      await home.close()
    }
  })
})

describe('a metric of a plugin', () => {
  it('keeps its labels as given, and is removed together with the plugin', async () => {
    const label = 'a "quoted" \\ name\nin two lines'
    const mail = definePlugin({
      name: 'mail',
      setup(svc) {
        svc.add(Metrics, { name: 'mails_total', help: 'Mails,\nin all.', type: 'counter', collect: () => 7 })
        svc.add(Metrics, {
          name: 'mail_size_bytes',
          help: 'How large mails are.',
          type: 'histogram',
          collect: async () => [{ labels: { box: label }, value: { buckets: [[1024, 2]], sum: 5000, count: 3 } }],
        })
        svc.add(Metrics, { name: 'mail_unknown', help: 'Not known here.', type: 'gauge', collect: () => undefined })
      },
    })
    await using home = await startServer({ builtins: [mail] })
    const { text } = await home.get('/metrics')
    expect(text).toContain('# HELP mails_total Mails,\\nin all.\n# TYPE mails_total counter\nmails_total 7\n')
    const box = 'box="a \\"quoted\\" \\\\ name\\nin two lines"'
    expect(text).toContain(
      `mail_size_bytes_bucket{${box},le="1024"} 2\nmail_size_bytes_bucket{${box},le="+Inf"} 3\nmail_size_bytes_sum{${box}} 5000\nmail_size_bytes_count{${box}} 3\n`,
    )
    expect(text).not.toContain('mail_unknown')
    expect(complaints(text)).toBe('')
    await home.kernel.host.remove('mail')
    expect((await home.get('/metrics')).text).not.toContain('mail')
  })

  it('is left out alone when it fails, with one warning until it works again', async () => {
    let broken = true
    const shaky = definePlugin({
      name: 'shaky',
      setup: svc =>
        void svc.add(Metrics, {
          name: 'shaky_level',
          help: 'Shaky.',
          type: 'gauge',
          collect: () => (broken ? Promise.reject(new Error('no level')) : 3),
        }),
    })
    await using home = await startServer({ builtins: [shaky] })
    const warningCount = () => home.logged('the metric shaky_level is left out: no level').length
    for (let scrapes = 3; scrapes > 0; scrapes--) {
      const found = await home.scrape()
      expect([found.shaky_level, found.svc_agents_idle]).toEqual([undefined, 0])
    }
    expect(warningCount()).toBe(1)
    broken = false
    expect((await home.scrape()).shaky_level).toBe(3)
    broken = true
    await home.scrape()
    expect(warningCount()).toBe(2)
  })

  it('cannot use a name that is taken or invalid', async () => {
    await using home = await startServer()
    const adds = (name: string, type: 'gauge' | 'counter' = 'gauge') =>
      home.kernel.host.add(
        definePlugin({
          name: 'rival',
          setup: svc => void svc.add(Metrics, { name, help: 'x', type, collect: () => 1 }),
        }),
      )
    await expect(adds('svc_agents_idle')).rejects.toThrow('"metrics" already did')
    await expect(adds('two words')).rejects.toThrow('needs a collect() function and a name of letters')
    await expect(adds('mails', 'counter')).rejects.toThrow('must end in _total')
  })
})

it('the event loop delay is measured when something blocks the loop', async () => {
  const { clock } = systemPorts()
  const lag = new LoopLag(clock)
  expect(lag.read('max')).toBeUndefined()
  const undo = lag.watch()
  // Longer than the interval between two samples of a busy loop.
  const until = performance.now() + 300
  while (performance.now() < until) {}
  await clock.sleep(1)
  expect(lag.read('max')).toBeGreaterThan(0.15)
  expect(lag.read(50)).toBeLessThanOrEqual(lag.read('max')!)
  await undo()
})

it('the module can be removed and added again without lost or doubled metrics', async () => {
  await using home = await startServer()
  await spawn(home)
  await waitUntilIdle(home)
  const before = totals(await home.scrape())
  await home.kernel.host.remove('metrics')
  expect((await home.get('/metrics')).status).toBe(404)
  await home.kernel.host.add(metrics)
  const { text } = await home.get('/metrics')
  expect(totals(samplesOf(text))).toEqual(before)
  expect(text.match(/^# TYPE svc_agents_idle /gm)).toHaveLength(1)
})

it.skipIf(spawnSync('promtool', ['--version']).error)('promtool accepts the metrics page', async () => {
  await using home = await startServer({ config: { daemon: { budget_usd: 5, max_retries: 0 } } })
  await spawn(home)
  await waitUntilIdle(home)
  const { text } = await home.get('/metrics')
  expect(text).toContain('svc_budget_limit_usd 5\n')
  expect(complaints(text)).toBe('')
})

it('a scrape counts 10,000 agents', async () => {
  await using home = await startServer({ roles: ['server'] })
  await populate(home, 10_000)
  expect((await home.scrape()).svc_agents_idle).toBe(10_000)
})

/** Inserts agents with leases, goals and events. */
async function populate(home: TestHost, agents: number): Promise<void> {
  const times = agents * 5
  const numbers = (many: number) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many})`
  await allBehind(home.root, [
    [
      `INSERT INTO agents (agent_id, name, role, preset, spawned_at) ${numbers(agents)}
       SELECT 'w-' || i, 'w', 'works', 'worker', i FROM n`,
    ],
    ['INSERT INTO leases (id, agent_id, run_at) SELECT agent_id, agent_id, 1 FROM agents'],
    [
      `INSERT INTO goals (goal_id, agent_id, objective, created_at)
       SELECT 'g-' || agent_id, agent_id, 'a goal', 1 FROM agents`,
    ],
    [
      `INSERT INTO events (type, v, at, data) ${numbers(times)}
       SELECT 'tool_result', 1, 1, '{"tool":"t' || (i % 9) || '","ok":true}' FROM n`,
    ],
  ])
}

/** Returns the output of `promtool check metrics`. */
function complaints(exposition: string): string {
  const { stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input: exposition, encoding: 'utf8' })
  return error ? '' : `${stdout}${stderr}`
}

function totals(samples: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(samples).filter(([name]) => /^svc_(?!model_attempts)\w+_total|^svc_cycle_/.test(name)),
  )
}

function without(samples: Record<string, number>, pattern: RegExp): Record<string, number> {
  return Object.fromEntries(Object.entries(samples).filter(([name]) => !pattern.test(name)))
}
