import { expect, it } from 'vitest'
import schedules from '#platform/schedules/index'
import alarm from '#tools/toolkits/alarm/index'
import { testHostWithTools } from '../tools/toolkit-host.ts'

const MODULES = [schedules, alarm]
const idIn = (text: string) => /alarm-[0-9a-f]{8}/.exec(text)?.[0] as string

it('an agent sets alarms by duration and by time, lists them in order, and cancels one', async () => {
  await using home = await testHostWithTools(MODULES)
  const said = await home.use('set_alarm', { description: 'Look at the build', hours: '1', minutes: '30', seconds: 5 })
  const first = idIn(said)
  expect(said).toBe(`Set as ${first}: it goes off at 2026-01-01T01:30:05.000Z. It is 2026-01-01T00:00:00.000Z now.`)
  const second = idIn(await home.use('set_alarm_at', { description: 'Water the plants', time: '00:45' }))
  expect(await home.use('list_alarms')).toBe(
    `${second}  2026-01-01T00:45:00.000Z  Water the plants\n${first}  2026-01-01T01:30:05.000Z  Look at the build`,
  )
  expect(await home.use('cancel_alarm', { alarm_id: first })).toBe(`${first} is cancelled.`)
  expect(await home.kernel.invoke('alarms.all')).toMatchObject([{ alarm_id: second, created_by: 'agent' }])
})

it("an agent can neither see nor cancel another agent's alarm", async () => {
  await using home = await testHostWithTools(MODULES)
  const id = idIn(await home.use('set_alarm', { description: 'Look at the build', minutes: 5 }))
  const before = await home.kernel.invoke('alarms.all')
  expect(await home.use('cancel_alarm', { alarm_id: id }, home.ids[1])).toBe(
    `error: There is no pending alarm "${id}" of yours.`,
  )
  expect(await home.use('list_alarms', {}, home.ids[1])).toBe('[You have no alarms.]')
  expect(await home.kernel.invoke('alarms.all')).toEqual(before)
})

it.each([
  ['set_alarm', { description: 'x' }, 'say when'],
  ['set_alarm', { description: 'x', minutes: '-5' }, 'error'],
  ['set_alarm', { description: 'x', minutes: 'five' }, 'error'],
  ['set_alarm', { description: '', minutes: 5 }, 'error'],
  ['set_alarm_at', { description: 'x', time: 'later' }, 'is not a time'],
  ['set_alarm_at', { description: 'x', time: '2020-01-01T00:00:00Z' }, 'has passed'],
])('%s rejects %j', async (name, args, sentence) => {
  await using home = await testHostWithTools(MODULES)
  const said = await home.use(name, args)
  expect(said).toMatch(/^error: /)
  expect(said).toContain(sentence)
  expect(await home.kernel.invoke('alarms.all')).toEqual([])
})
