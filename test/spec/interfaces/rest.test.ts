import { describe, expect, it } from 'vitest'
import { definePlugin, type PluginHandle } from '#kernel'
import daemon from '#platform/daemon/index'
import { type Cycle, SchedulerToken } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import approvals from '#safety/approvals/index'
import identity from '#society/identity/index'
import { Suffering, type SufferingState } from '#society/suffering/contract'
import suffering from '#society/suffering/index'
import { writeDirectly } from '../../support/direct-access.ts'
import { runHeartbeat } from '../../support/index.ts'
import { detail, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { goalAnswer } from '../safety/approvals-host.ts'

type Home = Awaited<ReturnType<typeof testHostWithRest>>

/** Creates agents whose model found nothing to do and is not asked again for a month. @param setup an extra plugin */
async function testHostWithRest(agents: number, setup: (svc: PluginHandle) => void = () => {}) {
  const home = await testHostWithModel(() => goalAnswer(''), {
    builtins: [approvals, daemon, identity, suffering, definePlugin({ name: 'extra', setup })],
  })
  const ids: string[] = []
  for (let n = 0; n < agents; n++) ids.push(await spawn(home))
  home.kernel.heartbeat.start()
  for (let n = 0; n < 3; n++) await runHeartbeat(home)
  await writeDirectly(home.root, 'UPDATE idle_agents SET ask_again_at = ask_again_at + 2592000000')
  await runHeartbeat(home)
  return Object.assign(home, { ids })
}

/** Returns the agents that were claimed one by one in a number of heartbeats. */
async function driven(home: Home, heartbeats = 1): Promise<string[]> {
  const scheduler = home.kernel.use(SchedulerToken)
  const claim = scheduler.claim.bind(scheduler)
  const ids: string[] = []
  scheduler.claim = async limit => {
    const leases = await claim(limit)
    ids.push(...leases.filter(({ kind }) => kind === 'agent').map(({ id }) => id))
    return leases
  }
  for (let n = 0; n < heartbeats; n++) await runHeartbeat(home)
  scheduler.claim = claim
  return ids
}

const cyclesOf = async (home: Home) => Promise.all(home.ids.map(async id => (await detail(home, id)).cycle_count))

const lay = ({ kernel }: Home, id: string, severity: number) =>
  kernel.use(Store).apply([kernel.use(Suffering).add(id, 'burnout', { severity })])

describe('idle agents', () => {
  it('have their cycles counted and reported without being claimed', async () => {
    await using home = await testHostWithRest(3)
    const calls: string[] = []
    const { hooks } = home.kernel
    hooks.on('cycle_start', ({ agent_id }) => void calls.push(`${agent_id} starts`))
    hooks.on('phase_enter', ({ agent_id, phase }) => void calls.push(`${agent_id} ${phase}`))
    hooks.on('phase_exit', ({ agent_id, outcome }) => void calls.push(`${agent_id} ${outcome}`))
    hooks.on('cycle_end', ({ agent_id, result }) => void calls.push(`${agent_id} ${result}`))
    const before = await cyclesOf(home)
    expect(await driven(home, 2)).toEqual([])
    expect(await cyclesOf(home)).toEqual(before.map(cycles => cycles + 2))
    const [id] = home.ids
    const phases = ['approval_gate', 'suffering_escalation', 'context_assembly', 'goal_generation', 'cleanup']
    const cycle = ['starts', ...phases.flatMap(phase => [phase, 'ok']), 'idle']
    expect(calls.filter(line => line.startsWith(id!))).toEqual([...cycle, ...cycle].map(what => `${id} ${what}`))
  })

  it.each([
    ['a nudge', (home: Home, id: string) => home.kernel.invoke('agents.nudge', { id, message: 'look alive' })],
    ['another model', (home: Home, id: string) => home.kernel.invoke('agents.update', { id, model: 'openai:other' })],
    ['a goal', (home: Home, id: string) => home.kernel.invoke('goals.add', { id, objective: 'Water the plants' })],
    ['a stressor', (home: Home, id: string) => lay(home, id, 0.2)],
  ])('are claimed again at once when %s reaches one of them, and only that one', async (_, reach) => {
    await using home = await testHostWithRest(3)
    await reach(home, home.ids[1]!)
    expect(new Set(await driven(home))).toEqual(new Set([home.ids[1]]))
  })

  it('are all claimed while the daemon is frozen', async () => {
    await using home = await testHostWithRest(2)
    await home.kernel.invoke('daemon.pause', {})
    expect(new Set(await driven(home))).toEqual(new Set(home.ids))
  })

  it('run full cycles where a plugin taps a phase, unless its `hasWork` names the agents that need them', async () => {
    const tapped: string[] = []
    const note = (cycle: Cycle) => void tapped.push(cycle.agent_id)
    await using all = await testHostWithRest(2, svc => svc.tap('cleanup', 'all', note))
    expect(new Set(await driven(all))).toEqual(new Set(all.ids))
    tapped.length = 0
    const busy: string[] = []
    await using some = await testHostWithRest(2, svc => svc.tap('cleanup', { name: 'some', hasWork: () => busy }, note))
    tapped.length = 0
    expect(await driven(some)).toEqual([])
    busy.push(some.ids[0]!)
    expect(await driven(some)).toEqual([some.ids[0]])
    expect(tapped).toEqual([some.ids[0]])
  })

  it('run full cycles where a guard cannot name the agents that it lets pass', async () => {
    await using home = await testHostWithRest(2, svc =>
      svc.guard('cleanup', { name: 'watch', shouldProceed: () => true }),
    )
    expect(new Set(await driven(home))).toEqual(new Set(home.ids))
  })

  it('are claimed one by one, with a log line, when `hasWork` fails', async () => {
    await using home = await testHostWithRest(2, svc =>
      svc.tap('cleanup', { name: 'broken', hasWork: () => Promise.reject(new Error('no idea')) }, () => {}),
    )
    expect(new Set(await driven(home))).toEqual(new Set(home.ids))
    expect(home.logged('their cycles run one by one: no idea').length).toBeGreaterThan(0)
  })

  it('miss no event that arrives while `hasWork` runs', async () => {
    let meanwhile = async () => {}
    await using home = await testHostWithRest(2, svc =>
      svc.tap('cleanup', { name: 'slow', hasWork: () => meanwhile().then(() => []) }, () => {}),
    )
    const [, id] = home.ids
    const before = home.server.requests.length
    meanwhile = async () => {
      meanwhile = async () => {}
      await home.kernel.invoke('agents.nudge', { id, message: 'the plants!' })
    }
    expect(new Set(await driven(home))).toEqual(new Set([id]))
    expect(home.server.requests.slice(before).map(({ prompt }) => prompt.includes('the plants!'))).toEqual([true])
  })

  it('reach the same state as agents that run full cycles all the time', async () => {
    const statusAfter = async (setup?: (svc: PluginHandle) => void) => {
      await using home = await testHostWithRest(1, setup)
      const [id] = home.ids
      await lay(home, id!, 0.3)
      const whole = await driven(home, 400)
      await home.kernel.use(SchedulerToken).wake(undefined, 'to be looked at')
      await runHeartbeat(home)
      const state = (await detail(home, id!)).suffering as SufferingState
      return {
        whole: whole.length,
        severity: state.stressors.map(({ severity }) => severity),
        hours: state.waking_hours,
      }
    }
    const [resting, awake] = [await statusAfter(), await statusAfter(svc => svc.tap('cleanup', 'all', () => {}))]
    expect(resting.whole).toBeLessThan(awake.whole / 10)
    expect(resting.hours).toBeCloseTo(awake.hours, 2)
    expect(resting.severity.length).toBe(awake.severity.length)
    for (const [n, severity] of resting.severity.entries())
      expect(Math.abs(severity - awake.severity[n]!)).toBeLessThan(0.002)
  })
})
