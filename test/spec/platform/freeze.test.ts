import { describe, expect, it } from 'vitest'
import rest from '#interfaces/rest/index'
import { definePlugin, type Events } from '#kernel'
import { Freeze } from '#platform/daemon/contract'
import daemon from '#platform/daemon/index'
import { PHASES, SchedulerToken } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import { project } from '../../cli/project.ts'
import { listen } from '../../interfaces/rest/rest-server.ts'
import {
  type ModelServerRequest,
  RunningSvc,
  refuse,
  runHeartbeat,
  type TestHost,
  type TestHostOptions,
  tempDir,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'

/** Records the entered phases and ended cycles from the hooks. */
function cycleWatcher() {
  const entered: string[] = []
  const ended: Events['cycle_end'][] = []
  const plugin = definePlugin({
    name: 'watcher',
    setup(svc) {
      svc.on('phase_enter', ({ phase }) => entered.push(phase))
      svc.on('cycle_end', end => ended.push(end))
    },
  })
  const clear = () => {
    entered.length = 0
    ended.length = 0
  }
  return { entered, ended, plugin, clear }
}

/** Returns a goal, and then steps that always differ. */
const busyModel = (asked: ModelServerRequest) =>
  asksForGoal(asked)
    ? text(`{"goal":"Write piece number ${asked.n} about the tides"}`)
    : toolCall('write_notepad', { text: `words ${asked.n}` })

/** Starts a test host with a daemon and a REST server in its process. */
async function startServer(options: TestHostOptions = {}) {
  const seen = cycleWatcher()
  const home = await testHostWithModel(busyModel, {
    ...options,
    builtins: [rest, daemon, seen.plugin, ...(options.builtins ?? [])],
  })
  const { ask } = await listen(home.kernel)
  return Object.assign(home, { seen, post: (path: string) => ask(path, { method: 'POST' }), get: ask })
}

const calls = ({ server }: { server: { bill: readonly unknown[] } }) => server.bill.length
const events = async ({ kernel }: TestHost) =>
  (await kernel.use(Store).events(0, 1000)).map(({ type }) => type).filter(type => type.startsWith('daemon_'))

describe('a frozen daemon', () => {
  it('ends cycles as guarded, enters no phase and calls no model', async () => {
    await using home = await startServer()
    const { status, json } = await home.post('/daemon/pause')
    expect([status, json]).toEqual([200, { status: 'paused', frozen_since: home.clock.now().toISOString() }])
    await spawn(home)
    home.seen.clear()
    for (let beats = 3; beats > 0; beats--) await runHeartbeat(home)
    expect(home.seen.ended.length).toBeGreaterThanOrEqual(3)
    expect(new Set(home.seen.ended.map(({ result }) => result))).toEqual(new Set(['guarded']))
    expect(home.seen.entered).toEqual([])
    expect(calls(home)).toBe(0)
    expect(await home.kernel.use(Freeze).isFrozen()).toBe(true)

    const resumed = await home.post('/daemon/resume')
    expect([resumed.status, resumed.json]).toEqual([200, { status: 'running', frozen_since: null }])
    await runHeartbeat(home)
    expect(home.seen.entered).toContain('goal_generation')
    expect(calls(home)).toBeGreaterThan(0)
  })

  it('reports when it was first frozen, also after a second freeze', async () => {
    await using home = await startServer()
    expect((await home.get('/daemon')).json).toMatchObject({ frozen: false, frozen_since: null })
    const since = home.clock.now().toISOString()
    await home.post('/daemon/pause')
    await home.clock.advance(1000)
    expect((await home.post('/daemon/pause')).json.frozen_since).toBe(since)
    expect((await home.get('/daemon')).json).toMatchObject({ frozen: true, frozen_since: since, health: 'healthy' })
    await home.post('/daemon/resume')
    expect((await home.post('/daemon/resume')).status).toBe(200)
    expect(await events(home)).toEqual(['daemon_paused', 'daemon_resumed'])
  })

  it('makes no further model call in a running pursuit, and continues the pursuit after the resume', async () => {
    let step = 0
    const seen = cycleWatcher()
    let freezeNow: () => Promise<unknown> = async () => {}
    const script = async (asked: ModelServerRequest) => {
      if (asksForGoal(asked)) return busyModel(asked)
      step++
      if (step === 2) await freezeNow()
      return step < 4 ? busyModel(asked) : toolCall('finish_goal', { summary: 'done', evidence: [] })
    }
    await using home = await testHostWithModel(script, { builtins: [daemon, seen.plugin] })
    freezeNow = () => home.kernel.invoke('daemon.pause')
    const id = await spawn(home)
    await until(() => step === 2)
    await until(() => seen.ended.some(({ result }) => result === 'guarded'))
    for (let beats = 3; beats > 0; beats--) await runHeartbeat(home)
    expect(step).toBe(2)
    const agent = await detail(home, id)
    expect(agent).toMatchObject({ status: 'idle', error: null, waiting_for: null })
    expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'active', steps_completed: 2 })

    await home.kernel.invoke('daemon.resume')
    await runHeartbeat(home)
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(step).toBe(4)
  })

  it('counts no cycle for idle agents that were listed before the freeze', async () => {
    await using home = await testHostWithModel(busyModel, { builtins: [daemon] })
    const id = await spawn(home)
    await home.kernel.heartbeat.stop()
    const scheduler = home.kernel.use(SchedulerToken)
    const later = home.clock.ms() + 60_000
    const due = (await scheduler.listDue?.(later, 10)) ?? []
    expect(due).toMatchObject([{ id }])
    await home.kernel.invoke('daemon.pause')
    expect(await scheduler.pass?.(due, later)).toEqual([])
    expect(await scheduler.pass?.((await scheduler.listDue?.(later, 10)) ?? [], later)).toEqual([id])
  })

  it('does not retry a failed model call', async () => {
    const seen = cycleWatcher()
    let freezeNow: () => Promise<unknown> = async () => {}
    const script = async (asked: ModelServerRequest) => {
      if (asksForGoal(asked)) return busyModel(asked)
      await freezeNow()
      return refuse(503, 'Overloaded')
    }
    await using home = await testHostWithModel(script, { builtins: [daemon, seen.plugin] })
    freezeNow = () => home.kernel.invoke('daemon.pause')
    await spawn(home)
    await until(async () => {
      await home.clock.advance(1_000)
      return seen.ended.some(({ result }) => result === 'guarded')
    })
    expect(home.server.requests.filter(asked => !asksForGoal(asked))).toHaveLength(1)
  })

  it('stays frozen over a restart, and spends nothing until it is resumed', async () => {
    await using dir = await tempDir()
    const before = await startServer({ root: dir.path })
    const id = await spawn(before)
    await waitUntilIdle(before)
    await before.post('/daemon/pause')
    const { frozen_since } = (await before.get('/daemon')).json
    const spent = (await detail(before, id)).cost_usd
    await before.close()

    await using after = await startServer({ root: dir.path })
    for (let beats = 2; beats > 0; beats--) await runHeartbeat(after)
    expect((await after.get('/daemon')).json).toMatchObject({ frozen: true, frozen_since })
    expect(calls(after)).toBe(0)
    expect((await detail(after, id)).cost_usd).toBe(spent)
    await after.post('/daemon/resume')
    await runHeartbeat(after)
    expect(calls(after)).toBeGreaterThan(0)
  })
})

describe('a freeze of the daemon and a pause of an agent', () => {
  it('are independent: an agent paused before a freeze is still paused after it and a restart', async () => {
    await using dir = await tempDir()
    const before = await startServer({ root: dir.path })
    const [paused, free] = [await spawn(before), await spawn(before)]
    await waitUntilIdle(before)
    await before.post(`/agents/${paused}/pause`)
    await before.post('/daemon/pause')
    expect([(await detail(before, paused)).status, (await detail(before, free)).status]).toEqual(['paused', 'idle'])
    await before.close()

    await using after = await startServer({ root: dir.path })
    await after.post('/daemon/resume')
    after.seen.clear()
    await runHeartbeat(after)
    expect((await detail(after, paused)).status).toBe('paused')
    const driven = new Set(after.seen.ended.map(({ agent_id }) => agent_id))
    expect([driven.has(paused), driven.has(free)]).toEqual([false, true])
  })

  it('are independent: an agent resumed during a freeze is idle, but makes no model call', async () => {
    await using home = await startServer()
    const id = await spawn(home)
    await waitUntilIdle(home)
    await home.post(`/agents/${id}/pause`)
    await home.post('/daemon/pause')
    const before = calls(home)
    expect((await home.post(`/agents/${id}/resume`)).json.status).toBe('idle')
    await runHeartbeat(home)
    expect(calls(home)).toBe(before)
    expect((await home.get('/daemon')).json.frozen).toBe(true)
  })
})

it('POST /daemon/pause needs the daemon in its process; the operation does not', async () => {
  await using home = await startServer({ roles: ['server'] })
  for (const path of ['/daemon/pause', '/daemon/resume']) {
    const { status, json } = await home.post(path)
    expect([status, json.code]).toEqual([503, 'daemon_not_running'])
  }
  expect((await home.get('/daemon')).json.frozen).toBe(false)
  await home.kernel.invoke('daemon.pause')
  expect((await home.get('/daemon')).json.frozen).toBe(true)
})

it.each([
  [true, ['guarded']],
  [false, []],
])(
  'a freeze that cannot be read counts as frozen if guards_fail_closed is set, otherwise not: %s',
  async (guards_fail_closed, results) => {
    let broken = false
    // Makes the store fail only where the freeze is read.
    const faulty = definePlugin({
      name: 'faulty',
      setup(svc) {
        svc.on('cycle_start', () => {
          if (!broken) return
          const store = svc.use(Store)
          const get = ((sql, params) => {
            if (params?.[1] === 'frozen') return Promise.reject(new Error('the page is torn'))
            return store.get(sql, params)
          }) as typeof store.get
          const torn = (of: Store, name: string | symbol) =>
            name === 'get' || name === 'glance' ? get : bound(of, name)
          svc.provide(Store, new Proxy(store, { get: torn }))
          broken = false
        })
      },
    })
    await using home = await startServer({ builtins: [faulty], config: { daemon: { guards_fail_closed } } })
    broken = true
    home.seen.clear()
    await spawn(home)
    await until(() => home.seen.ended.length > 0)
    expect(home.seen.ended.map(({ result }) => result).filter(result => result === 'guarded')).toEqual(results)
    expect(home.seen.entered.length > 0).toBe(!guards_fail_closed)
    // `context_assembly` without a context ends the cycle, so the guard is not called for the two phases after it.
    expect(home.logged('the page is torn').length).toBeGreaterThanOrEqual(guards_fail_closed ? PHASES.length - 2 : 1)
  },
)

describe('svc daemon pause and resume', () => {
  it('work while no daemon runs, and apply to the daemon that starts next', async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\n' })
    const run = (...words: string[]) => svc(words, { cwd: dir.path })
    expect((await run('daemon', 'pause')).stdout).toMatch(/^frozen since .*; resume it with: svc daemon resume\n$/)
    expect((await run('daemon')).stdout).toMatch(/frozen +since/)
    await using running = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
    await running.waitForOutput(/Agents/)
    const status = async () => JSON.parse((await run('daemon', '--json')).stdout)
    expect(await status()).toMatchObject({ health: 'healthy', frozen: true })
    const { agent_id } = JSON.parse((await run('agent', 'coder', '--json')).stdout)
    const goals = async () => JSON.parse((await run('goals', agent_id, '--json')).stdout) as unknown[]
    expect(await goals()).toEqual([])

    expect((await run('daemon', 'resume')).code).toBe(0)
    await until(async () => (await goals()).length > 0)
    expect((await run('daemon', 'pause', '--json')).code).toBe(0)
    expect(await status()).toMatchObject({ frozen: true })
  })
})

function bound(of: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(of, name, of)
  return typeof value === 'function' ? value.bind(of) : value
}
