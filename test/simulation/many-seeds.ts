import { trialCount } from '../support/vitest/trial-count.ts'

/** Number of runs, and the first seed; `npm run simulate` sets other values. */
const RUNS = Number(process.env.SVC_TEST_WORLDS ?? trialCount(2_000, 400))
const FIRST = Number(process.env.SVC_TEST_SEED_FROM ?? 1)

/** Returns the even or the odd seeds, so that two cores share them. */
export function everyOther(rest: 0 | 1): number[] {
  return Array.from({ length: RUNS }, (_, n) => FIRST + n).filter(seed => seed % 2 === rest)
}
