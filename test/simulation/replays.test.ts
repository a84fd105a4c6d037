import { expect, it } from 'vitest'
import { measured } from '../support/measure.ts'
import { taped, told } from './lives.ts'
import { replayer } from './tapes.ts'

const RUNS = measured(200, 30)
const LEVELS = ['none', 'some', 'many'] as const
const CYCLES = 10

it(`${RUNS} random runs of the simulated daemon, each with its faults and up to its being killed, replay offline to the same log`, async () => {
  await using again = await replayer()
  const differ: string[] = []
  let same = 0
  let steps = 0
  for (let seed = 1; same + differ.length < RUNS; seed++) {
    const faults = LEVELS[seed % LEVELS.length]!
    const { run, recordings } = await taped({ seed, cycles: CYCLES, faults })
    expect(told(run, faults, CYCLES)).toEqual([])
    for (const recording of recordings) {
      const verdict = await again.replay(recording)
      steps += verdict.steps
      if (verdict.same && verdict.hash === verdict.replayed_hash) same++
      else differ.push(`seed ${seed} (${faults}): ${JSON.stringify(verdict.divergence)}`)
    }
  }
  expect(differ).toEqual([])
  expect(steps).toBeGreaterThan(RUNS)
}, 3_600_000)
