import { z } from '#kernel'
import { PERSONA_FIELDS, type PersonaFields } from '../contract.ts'

const number = z.number()
const amount = number.min(0)
const share = number.min(0).max(1)
/** Milliseconds, up to the maximum of `Date`. */
const time = number.min(0).max(8.64e15)
const FieldNumbers = z.object({
  risk_tolerance: number,
  social_drive: number,
  concentration: number,
  autonomy_level: number,
  happiness: number,
})

export const ActiveRow = z.object({
  stressor: z.string(),
  severity: share,
  peak: share,
  trend: z.enum(['rising', 'easing']),
  since: time,
})
export type ActiveRow = z.infer<typeof ActiveRow>

/** The state that was last reported. */
const ReportedSchema = z.object({ key: z.string(), load: share, persona: FieldNumbers, at: time })
export type ReportedState = z.infer<typeof ReportedSchema>

/** The stored inner state; everything else is derived from it. */
export const PersistedState = z.object({
  waking_ms: time,
  /** Differences between the persona's base and the profile's own values. */
  offsets: FieldNumbers,
  crisis: z.boolean(),
  stressors: z.array(ActiveRow),
  /** The last ended goals, oldest first: whether each was completed, and its number of steps. */
  outcomes: z.array(z.tuple([z.boolean(), amount])),
  hours_without_goal: amount,
  hours_unheard: amount,
  refusals: amount,
  told: ReportedSchema.nullable(),
})
export type PersistedState = z.infer<typeof PersistedState>

/** Default values for fields that a profile does not set. */
export const DEFAULT_HOME: PersonaFields = {
  risk_tolerance: 0.3,
  social_drive: 0.5,
  concentration: 1,
  autonomy_level: 0.5,
  happiness: 0.7,
}

export function eachField(value: (field: keyof PersonaFields) => number): Record<keyof PersonaFields, number> {
  const values = {} as Record<keyof PersonaFields, number>
  for (const field of PERSONA_FIELDS) values[field] = value(field)
  return values
}

/** Returns the inner state of a new agent. */
export function initialState(): PersistedState {
  return {
    waking_ms: 0,
    offsets: eachField(() => 0),
    crisis: false,
    stressors: [],
    outcomes: [],
    hours_without_goal: 0,
    hours_unheard: 0,
    refusals: 0,
    told: null,
  }
}

/** Returns the load: the sum of all severities, at most 1. */
export function loadOf({ stressors }: Pick<PersistedState, 'stressors'>): number {
  return Math.min(
    1,
    stressors.reduce((sum, { severity }) => sum + severity, 0),
  )
}

export function clamp(value: number, low = 0, high = 1): number {
  return Math.min(high, Math.max(low, value))
}
