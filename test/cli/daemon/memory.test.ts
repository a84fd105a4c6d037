import { cachedDataVersionTag, getHeapSpaceStatistics } from 'node:v8'
import { expect, it } from 'vitest'
import { giveMemoryBack } from '#interfaces/cli/process/memory'
import { HeldClock } from '../../support/index.ts'

it('a process gives back what a burst of work took, once it is at rest, and not again and again', async () => {
  const clock = new HeldClock()
  const tag = cachedDataVersionTag()
  const undo = giveMemoryBack(clock)
  // Out of this function's frame: a reference in it would keep what it is about.
  const burst = () => new WeakRef(Array.from({ length: 1_000_000 }, (_, n) => ({ n })))
  const held = burst()
  expect(held.deref()).toHaveLength(1_000_000)
  for (let second = 0; second < 15; second++) await clock.advance(1_000)
  expect(held.deref()).toBeUndefined()
  // With other flags V8 would refuse what it compiled at earlier starts.
  expect(cachedDataVersionTag()).toBe(tag)
  // Small things are left to V8: a collection is worth more than they are.
  const small = new WeakRef({})
  await clock.advance(2_000)
  expect(small.deref()).toBeDefined()
  undo()
})

it('a process that is at work all the time, and not busy, keeps little more than it uses', async () => {
  const clock = new HeldClock()
  const undo = giveMemoryBack(clock)
  // What is compiled at a start is kept, and V8 refuses it under other flags.
  await clock.advance(60_000)
  const tag = cachedDataVersionTag()
  const allocate = () => Array.from({ length: 1_500_000 }, (_, n) => ({ n })).filter(({ n }) => n % 6 === 0)
  const kept = allocate()
  let held: object[] = []
  // Some 25 MB are used, on pages that others have left; left alone, V8 takes more than 200. It may be long before it collects.
  let small = 0
  for (let second = 0; second < 600 && small < 20; second++) {
    const { user, system } = process.cpuUsage()
    const cpuTime = () => Object.values(process.cpuUsage()).reduce((sum, micros) => sum + micros, -user - system)
    held = Array.from({ length: 60_000 }, (_, n) => ({ n, text: `${n}` }))
    while (cpuTime() < 70_000) held.slice()
    await clock.advance(1_000)
    const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!
    small = old.space_size < 80 * 2 ** 20 ? small + 1 : 0
  }
  expect(small).toBe(20)
  expect(kept.length + held.length).toBe(310_000)
  expect(cachedDataVersionTag()).not.toBe(tag)
  undo()
  expect(cachedDataVersionTag()).toBe(tag)
}, 120_000)
