import type { SufferingConfig } from '../config.ts'
import type { StressorVerdict } from '../contract.ts'
import { type ActiveRow, clamp, eachField, loadOf, type PersistedState } from './state.ts'

/** Severity below which a decaying stressor is removed. */
export const GONE = 0.02
/** Time constant with which the number of refusals decays, in hours. */
const REFUSAL_HOURS = 4
/**
 * Maximum length of a simulation step, in hours, and maximum number of steps. A step also ends where a crisis begins or
 * ends.
 */
const PIECE_HOURS = 0.05
const MOST_PIECES = 200
/** Smallest change of a severity that is stored; changes from 0.02 on are reported. */
const UNSEEN = 0.002
/** Maximum time between two updates of an idle agent, in hours. Conditions on waking hours start at one hour. */
const STILL_HOURS = 0.1

export type Settings = Pick<
  SufferingConfig,
  'max_stressors' | 'initial_severity' | 'crisis_relief' | 'easing' | 'persona_return' | 'time_scale'
> & {
  thresholds: readonly [prominent: number, constrained: number, dominant: number, crisis: number]
  rate(stressor: string): number
}

/** Returns the thresholds in ascending order. */
export function thresholdsOf(config: SufferingConfig): Settings['thresholds'] {
  const { threshold_prominent, threshold_constrained, threshold_dominant, threshold_crisis } = config
  const all = [threshold_prominent, threshold_constrained, threshold_dominant, threshold_crisis]
  return [...Float64Array.from(all).sort()] as unknown as Settings['thresholds']
}

/**
 * Advances waking time (README: E, F, C, R and B).
 * @param ms waking time, before `time_scale`
 * @param busy whether the agent has a goal
 */
export function pass(inner: PersistedState, ms: number, busy: boolean, settings: Settings): PersistedState {
  const hours = (Math.max(0, ms) / 3_600_000) * settings.time_scale
  const longest = Math.max(PIECE_HOURS, hours / MOST_PIECES)
  let { stressors } = inner
  let crisis = inCrisis(inner.crisis, loadOf(inner), settings)
  for (let left = hours, n = 0; left > 0 && n < 4 * MOST_PIECES; n++) {
    const after = (piece: number) => stressors.flatMap(row => moveStressor(row, piece, crisis, settings))
    const changesCrisis = (piece: number) => inCrisis(crisis, loadOf({ stressors: after(piece) }), settings) !== crisis
    const whole = Math.min(left, longest)
    const flips = changesCrisis(whole)
    const piece = flips ? firstTime(whole, changesCrisis) : whole
    stressors = after(piece)
    crisis = flips ? !crisis : crisis
    left -= piece
  }
  return {
    ...inner,
    stressors,
    crisis,
    waking_ms: inner.waking_ms + Math.max(0, ms),
    offsets: eachField(field => inner.offsets[field] * Math.exp(-hours / settings.persona_return)),
    hours_without_goal: busy ? inner.hours_without_goal : inner.hours_without_goal + hours,
    hours_unheard: inner.hours_unheard + hours,
    refusals: inner.refusals * Math.exp(-hours / REFUSAL_HOURS),
  }
}

/** Returns the milliseconds until a visible change; cycles before that need no update. */
export function msUntilChange({ stressors, crisis }: PersistedState, settings: Settings): number {
  const fastest = Math.max(
    0,
    ...stressors.map(({ stressor, severity, trend }) => {
      const fading = (trend === 'easing' ? 1 / settings.easing : 0) + (crisis ? 1 / settings.crisis_relief : 0)
      return Math.max(severity * fading, trend === 'rising' ? settings.rate(stressor) : 0)
    }),
  )
  const hours = fastest > 0 ? Math.min(STILL_HOURS, UNSEEN / fastest) : STILL_HOURS
  return Math.min(hours / settings.time_scale, 1) * 3_600_000
}

/** Returns the first time within a number of hours at which a condition holds, by bisection, to a few microseconds. */
function firstTime(hours: number, isSo: (hours: number) => boolean): number {
  let [before, after] = [0, hours]
  for (let n = 0; n < 30; n++) {
    const middle = (before + after) / 2
    if (isSo(middle)) after = middle
    else before = middle
  }
  return after
}

/** E: a severity rises linearly. F: it decays. R: in a crisis it falls, even while its condition holds. */
function moveStressor(row: ActiveRow, hours: number, crisis: boolean, settings: Settings): ActiveRow[] {
  const fading = (row.trend === 'easing' ? 1 / settings.easing : 0) + (crisis ? 1 / settings.crisis_relief : 0)
  const rising = row.trend === 'rising' && !crisis ? settings.rate(row.stressor) * hours : 0
  const severity = clamp(row.severity * Math.exp(-hours * fading) + rising)
  if (row.trend === 'easing' && severity < GONE) return []
  return [{ ...row, severity, peak: Math.max(row.peak, severity) }]
}

/** C: a crisis begins at its threshold and ends below the previous threshold, so that it does not flicker. */
function inCrisis(crisis: boolean, load: number, { thresholds: [, , dominant, begins] }: Settings): boolean {
  return crisis ? load > dominant : load >= begins
}

/** S: applies a verdict on a stressor. A new stressor starts once, with the initial severity; relief is not undone. */
export function applyVerdict(
  inner: PersistedState,
  stressor: string,
  verdict: StressorVerdict,
  now: number,
  settings: Settings,
): PersistedState {
  const row = inner.stressors.find(each => each.stressor === stressor)
  if (verdict === 'resolve') return easeStressor(inner, stressor, 1)
  if (verdict !== 'raise' || row?.trend === 'rising') return inner
  return addStressor(inner, stressor, row && inner.crisis ? 0 : settings.initial_severity, now, settings)
}

/**
 * Adds a stressor, where there is space for one more. An existing one grows to at least this severity and rises from
 * then on.
 */
export function addStressor(
  inner: PersistedState,
  stressor: string,
  severity: number,
  now: number,
  settings: Settings,
): PersistedState {
  const row = inner.stressors.find(each => each.stressor === stressor)
  if (!row && inner.stressors.length >= settings.max_stressors) return inner
  const grown = Math.max(row?.severity ?? 0, clamp(severity))
  const peak = Math.max(row?.peak ?? 0, grown)
  return withRow(inner, { stressor, severity: grown, peak, trend: 'rising', since: row?.since ?? now })
}

/** Marks a stressor as decaying, starting at a share of its severity. */
export function easeStressor(inner: PersistedState, stressor: string, share: number): PersistedState {
  const row = inner.stressors.find(each => each.stressor === stressor)
  if (!row || (row.trend === 'easing' && share === 1)) return inner
  return withRow(inner, { ...row, severity: row.severity * share, trend: 'easing' })
}

function withRow(inner: PersistedState, row: ActiveRow): PersistedState {
  const at = inner.stressors.findIndex(each => each.stressor === row.stressor)
  return { ...inner, stressors: at < 0 ? [...inner.stressors, row] : inner.stressors.with(at, row) }
}
