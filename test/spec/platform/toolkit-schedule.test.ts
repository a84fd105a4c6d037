import { expect, it } from 'vitest'
import schedules from '#platform/schedules/index'
import schedule from '#tools/toolkits/schedule/index'
import { testHostWithTools } from '../tools/toolkit-host.ts'

const MODULES = [schedules, schedule]
const idIn = (text: string) => /sched-[0-9a-f]{8}/.exec(text)?.[0] as string

it('an agent schedules a goal, sees it in its list, and cancels it', async () => {
  await using home = await testHostWithTools(MODULES)
  const id = idIn(await home.use('schedule_goal', { objective: 'Tidy up the notepad', every_n_cycles: '10' }))
  expect(await home.use('list_schedules')).toBe(`${id}  every 10 cycles, next with cycle 10: Tidy up the notepad`)
  const every = idIn(await home.use('schedule_goal', { objective: 'Look', every_n_cycles: 1 }))
  expect(await home.use('list_schedules')).toContain(`${every}  every cycle, next with cycle 1: Look`)
  await home.use('cancel_schedule', { schedule_id: every })
  expect(await home.use('cancel_schedule', { schedule_id: id })).toBe(`${id} is cancelled.`)
  expect(await home.use('list_schedules')).toBe('[You have no schedules.]')
  // Those of the same millisecond are ordered by their random ids.
  const cancelled = [id, every].sort().map(schedule_id => ({ schedule_id, enabled: false, created_by: 'agent' }))
  expect(await home.kernel.invoke('schedules.all')).toMatchObject(cancelled)
})

it('an agent schedules a goal for a time of the day', async () => {
  await using home = await testHostWithTools(MODULES)
  const morning = { objective: 'Read the news', cron: '0 8 * * *', time_zone: 'Europe/Berlin' }
  const id = idIn(await home.use('schedule_goal', morning))
  expect(await home.use('list_schedules')).toMatch(`${id}  0 8 * * * (Europe/Berlin), next `)
  expect(await home.use('schedule_goal', { objective: 'Read the news' })).toMatch(
    /^error: Give either every_n_cycles \(10\) or cron/,
  )
})

it("an agent can neither see nor cancel another agent's schedule", async () => {
  await using home = await testHostWithTools(MODULES)
  const id = idIn(await home.use('schedule_goal', { objective: 'Tidy up the notepad', every_n_cycles: 10 }))
  const before = await home.kernel.invoke('schedules.all')
  expect(await home.use('cancel_schedule', { schedule_id: id }, home.ids[1])).toBe(
    `error: There is no schedule "${id}" of yours.`,
  )
  expect(await home.kernel.invoke('schedules.all')).toEqual(before)
  expect(await home.use('list_schedules', {}, home.ids[1])).toBe('[You have no schedules.]')
})

it.each([
  [{ objective: '', every_n_cycles: 1 }],
  [{ objective: 'x', every_n_cycles: 0 }],
  [{ objective: 'x', every_n_cycles: 1.5 }],
  [{ objective: 'x' }],
  [{ objective: 'x'.repeat(501), every_n_cycles: 1 }],
  [{ objective: '\u0000\u001b<b></b>', every_n_cycles: 1 }],
])('schedule_goal rejects %j', async args => {
  await using home = await testHostWithTools(MODULES)
  expect(await home.use('schedule_goal', args)).toMatch(/^error: /)
  expect(await home.kernel.invoke('schedules.all')).toEqual([])
})

it('control characters and tags are removed from an objective', async () => {
  await using home = await testHostWithTools(MODULES)
  await home.use('schedule_goal', { objective: 'Tidy \u001b[31mup <b>the</b> notepad', every_n_cycles: 2 })
  expect(await home.kernel.invoke('schedules.all')).toMatchObject([{ objective: 'Tidy [31mup the notepad' }])
})

it('a schedule over the limit is refused with the advice to cancel one', async () => {
  await using home = await testHostWithTools(MODULES, { schedules: { max_per_agent: 1 } })
  const first = idIn(await home.use('schedule_goal', { objective: 'Tidy up', every_n_cycles: 10 }))
  expect(await home.use('schedule_goal', { objective: 'Water the plants', every_n_cycles: 10 })).toContain('cancel one')
  await home.use('cancel_schedule', { schedule_id: first })
  expect(await home.use('schedule_goal', { objective: 'Water the plants', every_n_cycles: 10 })).toMatch(/^Scheduled/)
})
