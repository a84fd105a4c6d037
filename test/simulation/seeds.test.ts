import { describe, expect, it } from 'vitest'
import { live, told } from './lives.ts'

/** Worlds of each kind: as many as one likes with `npm run simulate -- --seeds <n>`, and else these, as far as there is time. */
const TOLD = process.env.SVC_TEST_WORLDS
const USUAL = { none: 40, some: 32, many: 18 }
const FIRST = Number(process.env.SVC_TEST_SEED_FROM ?? 1)
/** After so much processor time no further world of a kind is begun, in seconds, unless their number was told. */
const LIMIT_S = TOLD ? Number.POSITIVE_INFINITY : 20

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
      for (let seed = FIRST; lived < Number(TOLD ?? USUAL[faults]) && spentSince(began) < LIMIT_S; seed++, lived++) {
        const run = await live({ seed, faults, cycles: 20 })
        expect(told(run, faults, 20)).toEqual([])
        expect(run.cycles).toBeGreaterThan(0)
        for (const kind of Object.keys(run.faults)) kinds.add(kind)
      }
      expect(lived).toBeGreaterThan(0)
      const seconds = spentSince(began)
      console.log(
        `${lived} worlds (${faults}) in ${seconds.toFixed(1)} s of processor time: ${(lived / seconds).toFixed(1)} a second`,
      )
      expect(kinds.size > 0).toBe(faults !== 'none')
    }, 3_600_000)
  }
})
