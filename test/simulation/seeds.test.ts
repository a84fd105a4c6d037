import { describe, expect, it } from 'vitest'
import { live, told } from './lives.ts'

/** Worlds of each kind: as many as one likes with `npm run simulate -- --seeds <n>`, and else these, as far as there is time. */
const TOLD = process.env.SVC_TEST_WORLDS
const USUAL = { none: 75, some: 65, many: 60 }
const FIRST = Number(process.env.SVC_TEST_SEED_FROM ?? 1)
/** After so much processor time no further world of a kind is begun, in seconds, unless their number was told. */
const LIMIT_S = TOLD ? Number.POSITIVE_INFINITY : 25
/** Short lives, and many: what happens at starts, kills and ends is met more often for it. */
const CYCLES = 10
/** All that goes wrong on purpose. */
const KINDS = [
  ...['disk', 'disk_full', 'database', 'database_locked', 'killed', 'clock_jumps'],
  ...['model_down', 'model_refuses', 'model_stalls', 'model_breaks_off', 'model_cut_short', 'model_says_garbage'],
  ...['model_says_no_usage', 'model_calls_unknown_tool', 'model_tears_arguments'],
  ...['tool_fails', 'tool_hangs', 'tool_answers_garbage'],
]

function spentSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}

describe('whatever happens, what is promised holds', () => {
  const met = new Set<string>()
  for (const faults of ['none', 'some', 'many'] as const) {
    it(`in worlds where ${faults === 'none' ? 'nothing' : faults === 'some' ? 'something' : 'much'} fails`, async () => {
      const began = process.cpuUsage()
      let lived = 0
      const kinds = new Set<string>()
      for (let seed = FIRST; lived < Number(TOLD ?? USUAL[faults]) && spentSince(began) < LIMIT_S; seed++, lived++) {
        const run = await live({ seed, faults, cycles: CYCLES })
        expect(told(run, faults, CYCLES)).toEqual([])
        expect(run.cycles).toBeGreaterThan(0)
        for (const kind of Object.keys(run.faults)) kinds.add(kind)
      }
      expect(lived).toBeGreaterThan(0)
      const seconds = spentSince(began)
      console.log(
        `${lived} worlds (${faults}) in ${seconds.toFixed(1)} s of processor time: ${(lived / seconds).toFixed(1)} a second`,
      )
      expect(kinds.size > 0).toBe(faults !== 'none')
      for (const kind of kinds) met.add(kind)
    }, 3_600_000)
  }

  it.skipIf(TOLD && Number(TOLD) < 50)('and everything that can go wrong has', () => {
    expect(KINDS.filter(kind => !met.has(kind))).toEqual([])
  })
})
