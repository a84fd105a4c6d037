import type { Profile } from '#core/profiles/contract'
import type { SufferingConfig } from './config.ts'
import { PERSONA_FIELDS, type PersonaField, type PersonaFields } from './contract.ts'
import { thresholdsOf } from './state/dynamics.ts'
import { clamp, DEFAULT_HOME, eachField, loadOf, type PersistedState } from './state/state.ts'

/** Change of the base values when a goal ends. */
const OUTCOME: Readonly<Record<'completed' | 'abandoned', Partial<PersonaFields>>> = {
  completed: { happiness: 0.05, risk_tolerance: -0.05 },
  abandoned: { happiness: -0.1 },
}
/** Reduction of concentration by any stressor of severity 1, in addition to its own effects. */
const DISTRACTION = 0.25
const LEAST_CONCENTRATION = 0.2
/** Persona values at the beginning of a crisis. */
const IN_CRISIS: Partial<PersonaFields> = { risk_tolerance: 0.9, concentration: 0.3 }
/** Shares of the difference between base and effective values by which profile settings are adjusted. */
const WARMER = 0.5
const SHORTER = 0.4

/** Returns the profile's values of the persona fields, with defaults. */
export function homeOf({ persona }: Pick<Profile, 'persona'>): PersonaFields {
  return eachField(field => persona?.[field] ?? DEFAULT_HOME[field])
}

/** O: applies the end of a goal, which moves the base by one step; values stay from 0 to 1. */
export function afterOutcome(
  inner: PersistedState,
  outcome: keyof typeof OUTCOME,
  home: PersonaFields,
): PersistedState {
  const step = OUTCOME[outcome]
  const base = baseOf(inner, home)
  return { ...inner, offsets: eachField(field => clamp(base[field] + (step[field] ?? 0)) - home[field]) }
}

/** Returns the base: the profile's values, moved by the goals that have ended. */
export function baseOf({ offsets }: Pick<PersistedState, 'offsets'>, home: PersonaFields): PersonaFields {
  return eachField(field => clamp(home[field] + offsets[field]))
}

/** P: returns the base, plus the effects of stressors in proportion to severity, plus the effect of a crisis. */
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

/** K: returns the strength of a crisis: 1 when it begins, decreasing with the load to 0 when it ends. */
export function crisisShare(inner: PersistedState, config: SufferingConfig): number {
  if (!inner.crisis) return 0
  const [, , ends, begins] = thresholdsOf(config)
  return begins > ends ? clamp((loadOf(inner) - ends) / (begins - ends)) : 1
}

/** Returns a field's minimum: stressors reduce concentration to 0.2 at least, or leave a lower base unchanged. */
function leastOf(field: PersonaField, base: number): number {
  return field === 'concentration' ? Math.min(LEAST_CONCENTRATION, base) : 0
}

/** Returns the profile with the effective persona. Prompt wording follows it; numeric limits may only decrease. */
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
