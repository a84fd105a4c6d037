import { describe, expect, it } from 'vitest'
import { live, told } from './lives.ts'

/** Worlds of each kind; more with `SVC_TEST_WORLDS`, and as many as one likes with `npm run simulate`. */
const WORLDS = Number(process.env.SVC_TEST_WORLDS ?? 12)
/** After so much processor time no further world of a kind is begun, in seconds, unless their number was told. */
const LIMIT_S = process.env.SVC_TEST_WORLDS ? Number.POSITIVE_INFINITY : 8

function spentSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}

describe('whatever happens, what is promised holds', () => {
  for (const faults of ['none', 'some', 'many'] as const) {
    it(`in worlds where ${faults === 'none' ? 'nothing' : faults === 'some' ? 'something' : 'much'} fails`, async () => {
      const began = process.cpuUsage()
      let lived = 0
      const kinds = new Set<string>()
      for (let seed = 1; seed <= WORLDS && spentSince(began) < LIMIT_S; seed++, lived++) {
        const run = await live({ seed, faults })
        expect(told(run, faults)).toEqual([])
        expect(run.cycles).toBeGreaterThan(0)
        for (const kind of Object.keys(run.faults)) kinds.add(kind)
      }
      expect(lived).toBeGreaterThan(0)
      expect(kinds.size > 0).toBe(faults !== 'none')
    }, 3_600_000)
  }
})
