import { expect, it } from 'vitest'
import { giveMemoryBack } from '../../builtins/cli/memory.ts'
import { HeldClock } from '../support/index.ts'

it('a process gives back what a burst of work took, once it is at rest, and not again and again', async () => {
  const clock = new HeldClock()
  const undo = giveMemoryBack(clock)
  // Out of this function's frame: a reference in it would keep what it is about.
  const burst = () => new WeakRef(Array.from({ length: 1_000_000 }, (_, n) => ({ n })))
  const held = burst()
  expect(held.deref()).toHaveLength(1_000_000)
  for (let second = 0; second < 15; second++) await clock.advance(1_000)
  expect(held.deref()).toBeUndefined()
  // Small things are left to V8: a collection is worth more than they are.
  const small = new WeakRef({})
  await clock.advance(2_000)
  expect(small.deref()).toBeDefined()
  undo()
})
