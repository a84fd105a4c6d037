import type { ShareInterval, Spread } from './contract.ts'

/** Two-sided 95 % quantile of the normal distribution. */
const NORMAL_QUANTILE = 1.959964
/** Number of bootstrap resamples. */
const RESAMPLES = 2_000
/** Minimum number of runs of a scenario; fewer have too few different resamples. */
const MIN_RUNS = 3

/**
 * Returns Wilson's score interval (1927) of `passed` of `count`, 95 %. It is accurate for small counts, also
 * when none or all passed. Pooled over scenarios of different difficulty it is slightly too wide, because such a sum
 * varies less than one with equal chances.
 */
export function wilson(passed: number, count: number): ShareInterval | null {
  if (count === 0) return null
  const rate = passed / count
  const zSquared = NORMAL_QUANTILE * NORMAL_QUANTILE
  const centre = (rate + zSquared / (2 * count)) / (1 + zSquared / count)
  const halfWidth =
    (NORMAL_QUANTILE / (1 + zSquared / count)) * Math.sqrt((rate * (1 - rate)) / count + zSquared / (4 * count * count))
  return { low: round(Math.max(0, centre - halfWidth)), high: round(Math.min(1, centre + halfWidth)) }
}

/**
 * Returns the 95 % percentile interval of the mean of the scenarios' mean scores, by bootstrap (Efron and Tibshirani,
 * An Introduction to the Bootstrap, 1993, ch. 13). Runs are resampled within each scenario, since the scenarios are
 * fixed.
 * @param scoresByScenario scores of the runs of each scenario
 * @param random returns a number in [0, 1) for an index, always the same one, so that a report can be repeated
 * @returns null when a scenario has too few runs
 */
export function bootstrap(
  scoresByScenario: readonly (readonly number[])[],
  random: (index: number) => number,
): ShareInterval | null {
  if (scoresByScenario.length === 0 || scoresByScenario.some(({ length }) => length < MIN_RUNS)) return null
  let index = 0
  const means = Array.from({ length: RESAMPLES }, () =>
    mean(scoresByScenario.map(runs => mean(runs.map(() => runs[Math.floor(random(index++) * runs.length)]!)))),
  ).sort((a, b) => a - b)
  return { low: round(means[Math.floor(RESAMPLES * 0.025)]!), high: round(means[Math.ceil(RESAMPLES * 0.975) - 1]!) }
}

/** Returns the arithmetic mean; NaN without values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Returns the smallest value that at least this share of all values does not exceed (nearest rank). */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}

/** Rounds to four decimal places, which is the precision of the data. */
export function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

/** Returns the median and the 10 % and 90 % quantiles; null without values. */
export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  return { median: quantile(values, 0.5), p10: quantile(values, 0.1), p90: quantile(values, 0.9) }
}
