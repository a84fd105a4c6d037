import { describe, expect, it } from 'vitest'
import type { Alarm } from '#platform/schedules/contract'
import schedules from '#platform/schedules/index'
import { heldClock, type Script, testHost, until, waitUntilIdle } from '../../support/index.ts'
import { AGENT_MODULES, asksForGoal, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { finish, goalAnswer } from '../safety/approvals-host.ts'

const nothing: Script = () => goalAnswer('')

async function waiting(script = nothing, options: Parameters<typeof testHostWithModel>[1] = {}) {
  const home = await testHostWithModel(script, {
    builtins: [schedules],
    config: { daemon: { heartbeat: 80_000 } },
    ...options,
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  await waitUntilIdle(home)
  return Object.assign(home, { id })
}
type Home = Awaited<ReturnType<typeof waiting>>

const set = ({ kernel, id }: Home, at: string) =>
  kernel.invoke('alarms.set', { id, at, description: 'Look whether the build is green' }) as Promise<Alarm>
const promptsWith = ({ server }: Home, text: string) =>
  server.requests.filter(({ prompt }) => prompt.includes(text)).length
const pass = async (home: Home, seconds: number) => {
  for (let n = 0; n < seconds; n++) {
    await home.clock.advance(1_000)
    await waitUntilIdle(home)
  }
}
const LINE = 'Alarm of 2026-01-01T00:00:10.000Z, set by the operator: Look whether the build is green'

describe('an alarm', () => {
  it('wakes its agent at its time, and is delivered once', async () => {
    await using home = await waiting()
    const fired = until(home, 'alarm_fired')
    const { alarm_id } = await set(home, '2026-01-01T00:00:10Z')
    await pass(home, 9)
    expect(promptsWith(home, LINE)).toBe(0)
    await pass(home, 3)
    expect(await fired).toEqual({ agent_id: home.id, alarm_id, description: 'Look whether the build is green' })
    await until(() => promptsWith(home, LINE) === 1)
    await home.kernel.invoke('agents.nudge', { id: home.id, message: 'anything new?' })
    await pass(home, 2)
    expect(promptsWith(home, 'anything new?')).toBe(1)
    expect(promptsWith(home, LINE)).toBe(1)
    expect(await home.kernel.invoke('alarms.all', { all: true })).toMatchObject([
      { alarm_id, status: 'fired', fired_at: '2026-01-01T00:00:10.000Z' },
    ])
    expect(await home.kernel.invoke('alarms.list', { id: home.id })).toEqual([])
  })

  it('is shown to its agent during the pursuit of a goal', async () => {
    await using home = await waiting(request => {
      if (asksForGoal(request)) return goalAnswer('')
      return request.prompt.includes('set by the operator') ? finish('got it') : finish('got nothing')
    })
    await set(home, '2026-01-01T00:00:05Z')
    await home.kernel.invoke('agents.pause', { id: home.id })
    await pass(home, 6)
    await home.kernel.invoke('goals.add', { id: home.id, objective: 'Have a look around' })
    await home.kernel.invoke('agents.resume', { id: home.id })
    await pass(home, 2)
    expect(await home.kernel.invoke('goals.list', { id: home.id })).toMatchObject([{ result: 'got it' }])
  })

  it('is delivered on resume when it fires while its agent is paused', async () => {
    await using home = await waiting()
    await set(home, '2026-01-01T00:00:10Z')
    await home.kernel.invoke('agents.pause', { id: home.id })
    await pass(home, 15)
    expect(await home.kernel.invoke('alarms.all')).toEqual([])
    expect(promptsWith(home, LINE)).toBe(0)
    await home.kernel.invoke('agents.resume', { id: home.id })
    await until(() => promptsWith(home, LINE) === 1)
  })

  it('fires once when two daemons drive the same project', async () => {
    const clock = heldClock()
    await using home = await waiting(nothing, { clock })
    await using other = await testHost({
      builtins: [...AGENT_MODULES, schedules],
      roles: ['cli'],
      root: home.root,
      clock,
      seed: 2,
    })
    const fired: string[] = []
    for (const { kernel } of [home, other]) kernel.hooks.on('alarm_fired', ({ alarm_id }) => void fired.push(alarm_id))
    other.kernel.heartbeat.start()
    const { alarm_id } = await set(home, '2026-01-01T00:00:05Z')
    await pass(home, 8)
    expect(fired).toEqual([alarm_id])
  })

  it('fires at the next start when its time passed without a daemon', async () => {
    await using home = await waiting()
    await home.kernel.heartbeat.stop()
    await set(home, '00:01')
    home.clock.jump(3_600_000)
    home.kernel.heartbeat.start()
    await until(() => promptsWith(home, 'Alarm of 2026-01-01T00:01:00.000Z') === 1)
  })

  it('can be changed and cancelled', async () => {
    await using home = await waiting()
    const { alarm_id } = await set(home, '2026-01-01T00:00:10Z')
    expect(
      await home.kernel.invoke('alarms.update', { alarm_id, at: '2026-01-01T01:00:00+01:00' }).catch(String),
    ).toContain('has passed')
    const moved = { alarm_id, at: '2026-01-02T00:00:00.000Z', description: 'Water the plants' }
    expect(await home.kernel.invoke('alarms.update', moved)).toMatchObject(moved)
    await pass(home, 12)
    expect(await home.kernel.invoke('alarms.get', { alarm_id })).toMatchObject({ status: 'pending' })
    await home.kernel.invoke('alarms.cancel', { alarm_id })
    await expect(home.kernel.invoke('alarms.cancel', { alarm_id })).rejects.toMatchObject({ status: 404 })
    expect(await home.kernel.invoke('alarms.all', { all: true })).toEqual([])
  })

  it.each([
    ['in 5 minutes', '2026-01-01T00:05:00.000Z'],
    ['in 1 hour and 30 min', '2026-01-01T01:30:00.000Z'],
    ['In 1.5 days', '2026-01-02T12:00:00.000Z'],
    ['18:00 Europe/Berlin', '2026-01-01T17:00:00.000Z'],
    ['2026-07-31 18:00 America/New_York', '2026-07-31T22:00:00.000Z'],
    ['2026-07-31T18:00:30[Asia/Kolkata]', '2026-07-31T12:30:30.000Z'],
    ['2026-01-31 18:00 UTC', '2026-01-31T18:00:00.000Z'],
    ['2026-01-31 18:00+01:00', '2026-01-31T17:00:00.000Z'],
  ])('accepts the time %s', async (at, time) => {
    await using home = await waiting()
    const { alarm_id } = await set(home, at)
    expect(await home.kernel.invoke('alarms.get', { alarm_id })).toMatchObject({ at: time })
  })

  it.each([
    ['in 5 fortnights', 'is not a time'],
    ['18:00 Europe/Nowhere', 'is not a time'],
    ['in 0 minutes', 'has passed'],
    ['2025-12-31T23:59:59Z', 'has passed'],
    ['soon', 'is not a time'],
    ['2027-02-30T00:00:00Z', 'is not a time'],
    ['2999-01-01T00:00:00Z', 'too far ahead'],
  ])('rejects the time %s with a reason', async (at, sentence) => {
    await using home = await waiting()
    await expect(set(home, at)).rejects.toThrow(sentence)
  })

  it('is refused when its agent has too many', async () => {
    await using home = await waiting(nothing, {
      config: { daemon: { heartbeat: 80_000 }, schedules: { max_per_agent: 1 } },
    })
    await set(home, '18:00')
    await expect(set(home, '19:00')).rejects.toMatchObject({ code: 'too_many_schedules' })
  })
})
