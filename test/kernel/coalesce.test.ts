import { expect, it } from 'vitest'
import { coalesce } from '#lib/coalesce'

it('work runs once for the calls before it begins, and once more for those during a run', async () => {
  const ends: (() => void)[] = []
  const run = coalesce(() => new Promise(resolve => ends.push(resolve)))
  const first = [run(), run()]
  await Promise.resolve()
  expect(ends).toHaveLength(1)
  const second = [run(), run()]
  ends[0]!()
  await Promise.all(first)
  await Promise.resolve()
  expect(ends).toHaveLength(2)
  ends[1]!()
  await Promise.all(second)
})

it('a failed run fails its callers, and the next one begins', async () => {
  let runs = 0
  const run = coalesce(async () => {
    if (++runs === 1) throw new Error('no')
  })
  await expect(run()).rejects.toThrow('no')
  await expect(run()).resolves.toBeUndefined()
})
