import { describe, expect, it } from 'vitest'
import { simulate } from '../support/simulation/simulation.ts'
import { BROKEN_BUILDS } from './broken-builds.ts'
import { describeFailure } from './simulated-runs.ts'

describe('a build that is broken on purpose', () => {
  for (const { name, within, statement, instead, faults = 'some' } of BROKEN_BUILDS) {
    it(`${name}: is found within ${within} seeds`, async () => {
      let broken = 0
      const found: string[] = []
      for (let seed = 1; seed <= within && found.length === 0; seed++) {
        const rewrite = (sql: string) => {
          const changed = sql.replace(statement, instead)
          if (changed !== sql) broken++
          return changed
        }
        const run = await simulate({ seed, faults, rewrite })
        found.push(...describeFailure(run))
      }
      // The statement to break must still exist in the program.
      expect(broken).toBeGreaterThan(0)
      expect(found).toHaveLength(1)
    }, 600_000)
  }
})
