import type { Profile } from '#core/profiles/contract'
import type { SufferingConfig } from './config.ts'
import { PERSONA_FIELDS, type PersonaField, type PersonaFields } from './contract.ts'
import { thresholdsOf } from './state/dynamics.ts'
import { clamp, DEFAULT_HOME, eachField, loadOf, type PersistedState } from './state/state.ts'

/** What the end of a goal does to the base. */
export const OUTCOME: Readonly<Record<'completed' | 'abandoned', Partial<PersonaFields>>> = {
  completed: { happiness: 0.05, risk_tolerance: -0.05 },
  abandoned: { happiness: -0.1 },
}
/** What a stressor of severity 1 takes from concentration, whatever else it does. */
const DISTRACTION = 0.25
const LEAST_CONCENTRATION = 0.2
/** What a crisis makes of a persona when it begins. */
const IN_CRISIS: Partial<PersonaFields> = { risk_tolerance: 0.9, concentration: 0.3 }
/** How far the distance between base and effect moves what the profile says, as a share of it. */
const WARMER = 0.5
const SHORTER = 0.4

/** The profile's own values of the fields that move. */
export function homeOf({ persona }: Pick<Profile, 'persona'>): PersonaFields {
  return eachField(field => persona?.[field] ?? DEFAULT_HOME[field])
}

/** O: a goal has ended; the base moves one step, and never out of 0 to 1. */
export function afterOutcome(
  inner: PersistedState,
  outcome: keyof typeof OUTCOME,
  home: PersonaFields,
): PersistedState {
  const step = OUTCOME[outcome]
  const base = baseOf(inner, home)
  return { ...inner, offsets: eachField(field => clamp(base[field] + (step[field] ?? 0)) - home[field]) }
}

/** The base: what the profile says, moved by the goals that have ended. */
export function baseOf({ offsets }: Pick<PersistedState, 'offsets'>, home: PersonaFields): PersonaFields {
  return eachField(field => clamp(home[field] + offsets[field]))
}

/** P: the base, what the stressors add to it in proportion to their severity, and what a crisis makes of it. */
export function effectiveOf(
  inner: PersistedState,
  home: PersonaFields,
  effectsOf: (stressor: string) => Partial<PersonaFields>,
  config: SufferingConfig,
): PersonaFields {
  const base = baseOf(inner, home)
  const crisis = crisisShare(inner, config)
  return eachField(field => {
    const added = inner.stressors.reduce((sum, { stressor, severity }) => {
      const distraction = field === 'concentration' ? DISTRACTION * severity ** 2 : 0
      return sum + (effectsOf(stressor)[field] ?? 0) * severity - distraction
    }, 0)
    const shaken = clamp(base[field] + added, leastOf(field, base[field]))
    return shaken + crisis * ((IN_CRISIS[field] ?? shaken) - shaken)
  })
}

/** K: 1 when a crisis begins, less as the load falls, and 0 when it ends. */
export function crisisShare(inner: PersistedState, config: SufferingConfig): number {
  if (!inner.crisis) return 0
  const [, , ends, begins] = thresholdsOf(config)
  return begins > ends ? clamp((loadOf(inner) - ends) / (begins - ends)) : 1
}

/** No stressor takes concentration below a fifth, unless the agent has no more of it anyway. */
function leastOf(field: PersonaField, base: number): number {
  return field === 'concentration' ? Math.min(LEAST_CONCENTRATION, base) : 0
}

/** The profile as the agent lives by it now. The words of its prompts follow from it; the numbers that limit it only shrink. */
export function applyPersona(
  profile: Profile,
  base: PersonaFields,
  effective: PersonaFields,
  config: SufferingConfig,
): Profile {
  const { persona } = profile
  if (!persona) return profile
  const felt = Object.fromEntries(PERSONA_FIELDS.map(field => [field, round(effective[field])]))
  const shaped = { ...profile, persona: { ...persona, ...felt } }
  if (!config.behavioural_effects) return shaped
  const warmer = 1 + WARMER * (effective.risk_tolerance - base.risk_tolerance)
  const shorter = 1 - SHORTER * Math.max(0, base.concentration - effective.concentration)
  const { parameters } = profile
  const raiseTemperature = (temperature: number) => clamp(round(temperature * warmer), 0, 2)
  return {
    ...shaped,
    temperature: raiseTemperature(profile.temperature),
    ...(parameters.temperature === undefined
      ? {}
      : { parameters: { ...parameters, temperature: raiseTemperature(parameters.temperature) } }),
    max_steps: Math.max(1, Math.round(profile.max_steps * shorter)),
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
