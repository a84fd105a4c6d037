import { expect, it } from 'vitest'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import { runHeartbeat, type TestHost, text, until } from '../../../support/index.ts'
import { spawn, testHostWithModel } from '../models/model-host.ts'

const DAY_MS = 86_400_000
const of = (home: TestHost, id: string) => home.kernel.use(Memory).of(id)
const open = (config: object) =>
  testHostWithModel(() => text('There is nothing to do.'), { builtins: [memory], config: { memory: config } })

/** Creates agents, each with one old record that was used twice and one that was never used. */
async function ageRecords(home: TestHost, number: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < number; n++) {
    const id = await spawn(home)
    ids.push(id)
    await of(home, id).store('an old fact that was used', {}, 'mem-used')
    await of(home, id).store('an old fact that was not', {}, 'mem-unused')
    for (let times = 0; times < 2; times++) await of(home, id).recall('mem-used')
  }
  home.clock.jump(31 * DAY_MS)
  return ids
}
const countRecords = async (home: TestHost, ids: string[]) => Promise.all(ids.map(id => of(home, id).count()))

it('with consolidate_days, old unused records are removed on heartbeats, for each agent once a day', async () => {
  await using home = await open({ consolidate_days: 30 })
  const ids = await ageRecords(home, 7)
  home.kernel.heartbeat.start()
  await until(async () => {
    await runHeartbeat(home)
    return (await countRecords(home, ids)).every(count => count === 1)
  })
  expect(await of(home, ids[0]!).peek('mem-used')).toMatchObject({ access_count: 2 })
  expect(home.logged('removed: old and rarely used')).toHaveLength(7)

  // A record that becomes old after the round is removed a day later.
  await of(home, ids[0]!).store('a fact of the day', {}, 'mem-today')
  home.clock.jump(DAY_MS / 2)
  await runHeartbeat(home)
  await runHeartbeat(home)
  expect(await of(home, ids[0]!).peek('mem-today')).toBeDefined()
  home.clock.jump(31 * DAY_MS)
  await until(async () => {
    await runHeartbeat(home)
    return (await of(home, ids[0]!).peek('mem-today')) === undefined
  })
})

it('no record is removed automatically without consolidate_days', async () => {
  await using home = await open({})
  const ids = await ageRecords(home, 1)
  home.kernel.heartbeat.start()
  for (let beats = 0; beats < 4; beats++) await runHeartbeat(home)
  expect(await countRecords(home, ids)).toEqual([2])
})

it('a consolidation keeps the index: kept records are still found, and removed ones are not', async () => {
  await using home = await open({})
  const [id = ''] = await ageRecords(home, 1)
  await of(home, id).store('a new fact')
  expect(await of(home, id).consolidate(30, 2)).toBe(1)
  const found = (await of(home, id).look('fact', 5)).map(({ thought }) => thought)
  expect(found).toEqual(['a new fact', 'an old fact that was used'])
  expect(await of(home, id).consolidate(30, 2)).toBe(0)
})
