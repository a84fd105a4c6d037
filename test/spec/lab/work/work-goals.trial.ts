import { describe, expect, it } from 'vitest'
import { examine } from '#lab/benchmark/checks'
import { Scenario } from '#lab/benchmark/contract'
import { WORK_GOALS } from '#lab/benchmark/goals/index'
import { IS_WHOLE } from '../../../support/vitest/trial-count.ts'
import { BEHAVIOURS } from './fallible-model.ts'
import { dishonest, untouched, workHost } from './work-host.ts'

/** Maximum of the median number of turns per run: those of the solution and those that mistakes cost. */
const TURNS: Readonly<Record<string, number>> = { careful: 6, hasty: 8, foreign: 9, broken: 8, idle: 9, verbose: 10 }
const LONG = 3_600_000

// Seven times 60 goals: `npm run test:whole`.
describe.runIf(IS_WHOLE)('all 60 work goals, over real HTTP', () => {
  it.each(Object.keys(BEHAVIOURS))(
    'are each reached or honestly given up by a %s model',
    async behaviour => {
      await using host = await workHost(7)
      const report = await host.run([behaviour], { goals: ['all'] })
      const [model] = report.models
      expect(dishonest(report)).toEqual([])
      expect(host.server.refusals).toEqual([])
      expect(host.models.stumbles).toEqual([])
      if (behaviour === 'careful') expect(model).toMatchObject({ passed: model!.runs, failures: [] })
      // The answer to a mistake must show the way out.
      for (const [mistake, { made, helped }] of host.models.ledger)
        expect(helped / made, mistake).toBeGreaterThanOrEqual(0.8)
      expect(model!.per_run!.calls.median).toBeLessThanOrEqual(TURNS[behaviour] ?? 8)
    },
    LONG,
  )

  it('do not count as reached while the folder is untouched, also where programs check it', async () => {
    for (const goal of WORK_GOALS.map(each => Scenario.parse(each))) {
      const held = await examine(goal.checks, untouched(goal))
      expect(held, goal.name).toContain(false)
    }
  })
})
