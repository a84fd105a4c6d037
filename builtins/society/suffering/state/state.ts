import { z } from '#kernel'
import { PERSONA_FIELDS, type PersonaFields } from '../contract.ts'

const number = z.number()
const amount = number.min(0)
const share = number.min(0).max(1)
/** Milliseconds, up to the last time that a date can name. */
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

/** What was recorded last. */
const ReportedSchema = z.object({ key: z.string(), load: share, persona: FieldNumbers, at: time })
export type ReportedState = z.infer<typeof ReportedSchema>

/** All that is kept of an agent's inner life: everything else follows from it. */
export const PersistedState = z.object({
  waking_ms: time,
  /** How far the persona's base is from the profile's own values. */
  offsets: FieldNumbers,
  crisis: z.boolean(),
  stressors: z.array(ActiveRow),
  /** Of the last goals that ended, oldest first: whether each was completed, and in how many steps. */
  outcomes: z.array(z.tuple([z.boolean(), amount])),
  hours_without_goal: amount,
  hours_unheard: amount,
  refusals: amount,
  told: ReportedSchema.nullable(),
})
export type PersistedState = z.infer<typeof PersistedState>

/** What a profile that says nothing has. */
export const DEFAULT_HOME: PersonaFields = {
  risk_tolerance: 0.3,
  social_drive: 0.5,
  concentration: 1,
  autonomy_level: 0.5,
  happiness: 0.7,
}

export function eachField(value: (field: keyof PersonaFields) => number): Record<keyof PersonaFields, number> {
  return Object.fromEntries(PERSONA_FIELDS.map(field => [field, value(field)])) as Record<keyof PersonaFields, number>
}

/** An inner life in which nothing has happened yet. */
export function newborn(): PersistedState {
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

/** The load: all severities together, at most 1. */
export function loadOf({ stressors }: Pick<PersistedState, 'stressors'>): number {
  return Math.min(
    1,
    stressors.reduce((sum, { severity }) => sum + severity, 0),
  )
}

export function clamp(value: number, low = 0, high = 1): number {
  return Math.min(high, Math.max(low, value))
}
