import type { AgentRow } from '#core/agents/contract'
import type { PERSONA_FIELDS } from '#core/profiles/contract'
import { type Effect, parse, point, token, z } from '#kernel'

export { PERSONA_FIELDS } from '#core/profiles/contract'
export type PersonaField = (typeof PERSONA_FIELDS)[number]
const unit = z.number().min(0).max(1)
export const PersonaFields = z.object({
  risk_tolerance: unit,
  social_drive: unit,
  concentration: unit,
  autonomy_level: unit,
  happiness: unit,
})
export type PersonaFields = Readonly<z.infer<typeof PersonaFields>>

/**
 * Facts about an agent that stressors are computed from. Hours are waking hours, multiplied by `suffering.time_scale`.
 */
export interface SituationFacts {
  agent_id: string
  /** Counts of the last ten ended goals. */
  goals: { ended: number; completed: number; abandoned: number }
  /** Number of steps of the last ended goal. */
  last_steps: number
  /** Hours without a goal since the last completed one, or since the agent was spawned. */
  hours_without_goal: number
  /** Hours since the last received message. */
  hours_unheard: number
  /** Number of messages sent since then, among the last twenty. */
  unanswered: number
  /** Number of refused or declined actions, which decays exponentially with a time constant of four hours. */
  refusals: number
  /** Number of consecutive failed cycles. */
  failures: number
  /** Remaining share of the daemon's budget, from 0 to 1; null without a limit. */
  budget_left: number | null
}

/** @deprecated Use `SituationFacts`. */
export type LotFacts = SituationFacts

/** `raise`: the stressor's condition holds. `resolve`: it no longer does. undefined: unchanged. */
export type StressorVerdict = 'raise' | 'resolve' | undefined

/** A kind of stressor. While its condition holds its severity rises; afterwards it fades. */
export interface Stressor {
  name: string
  /** Description of the stressor, addressed to the agent. */
  description: string
  /** Condition under which the stressor is resolved, addressed to the agent. */
  condition: string
  /** Severity per hour of waking time while its condition holds. Default: 0.03. */
  rate?: number
  /** Added to persona fields at severity 1, proportionally less below. Every stressor also reduces concentration. */
  effects?: Partial<PersonaFields>
  /** Reads the facts at each heartbeat. Without it other modules set the stressor through `Suffering`. */
  sense?(facts: SituationFacts): StressorVerdict | Promise<StressorVerdict>
}
/** Name of a stressor, which prompts and lists show unchanged. */
export const StressorName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/i, 'must be a letter, then at most 63 letters, digits, "_" or "-"')
export const Stressors = point<Stressor>('stressors', {
  key: ({ name }) => name,
  has: { name: 'text', description: 'text', condition: 'text' },
  check: ({ name }) => void parse(StressorName, name, 'The name of a stressor'),
})

/** Inputs of a mood model. */
export interface InnerState {
  agent_id: string
  /** happiness - load, from -1 to 1 */
  valence: number
  /** The load; 1 in a crisis. */
  arousal: number
  load: number
  crisis: boolean
  persona: PersonaFields
}

/** Names moods, in a word. The first model that answers decides; the built-in model is asked last. */
export interface MoodModel {
  name: string
  stage?: number
  mood(state: InnerState): string | undefined | Promise<string | undefined>
}
export const Moods = point<MoodModel>('moods', {
  key: ({ name }) => name,
  has: { name: 'text', mood: 'function' },
  stage: ({ stage }) => stage,
  ask: (model, state: InnerState) => model.mood(state),
})

export const ActiveStressor = z.object({
  stressor: z.string().meta({ examples: ['repeated_failure'] }),
  severity: unit,
  peak_severity: unit,
  trend: z
    .enum(['rising', 'easing'])
    .describe('`rising`: the cause of the stressor persists; `easing`: the stressor fades'),
  condition: z.string().describe('Condition under which the stressor is resolved'),
  since: z.iso.datetime(),
})

/** An agent's suffering. */
export const SufferingState = z
  .object({
    load: unit.describe('The sum of all severities, at most 1'),
    crisis: z.boolean(),
    level: z.enum(['calm', 'prominent', 'constrained', 'dominant', 'crisis']),
    mood: z.string().meta({ examples: ['content'] }),
    stressors: z.array(ActiveStressor),
    waking_hours: z.number().describe('Total hours that the agent has been awake so far'),
  })
  .meta({ id: 'SufferingState' })
export type SufferingState = z.infer<typeof SufferingState>

const OutsideRange = z.object({
  agent_id: z.string(),
  stressor: StressorName,
  severity: unit.nullable().describe('Severity; null takes suffering.initial_severity'),
  note: z.string().max(500),
})
export const StressorAdded = OutsideRange.describe(
  "A stressor was added to an agent from outside the suffering module; it takes effect at the agent's next heartbeat",
)
export const StressorEased = OutsideRange.omit({ severity: true }).describe(
  'A stressor of an agent was resolved from outside the suffering module',
)

/** Sets and resolves stressors of agents. Add each write to the commit of its cause; it counts once. */
export interface Suffering {
  /** Adds a stressor to an agent. An existing one gets at least this severity and rises again. @throws InvalidInputError */
  add(agent_id: string, stressor: string, options?: { severity?: number; note?: string }): Effect
  /** Resolves a stressor: its severity is halved at once and fades from then on. */
  resolve(agent_id: string, stressor: string, options?: { note?: string }): Effect
  /** Returns the current state. */
  state(agent: AgentRow): Promise<SufferingState>
}
export const Suffering = token<Suffering>('suffering')

/** State of an agent at one time in the past. */
export const SufferingMoment = z.object({
  at: z.iso.datetime(),
  load: unit,
  crisis: z.boolean(),
  mood: z.string(),
  severities: z.record(z.string(), unit).describe('Severity by stressor'),
  persona: PersonaFields.describe('Persona in effect, including what stressors add'),
  base: PersonaFields.describe('Persona without what stressors add'),
})
export type SufferingMoment = z.infer<typeof SufferingMoment>

declare module '#kernel' {
  interface Events {
    stressor_added: z.infer<typeof StressorAdded>
    stressor_eased: z.infer<typeof StressorEased>
  }
}

declare module '#core/goals/contract' {
  interface GoalContext {
    /** The agent's suffering; null when the feature is off. */
    suffering?: SufferingState | null
    /** The five effective persona fields; null when the agent has none. */
    persona?: PersonaFields | null
  }
}
