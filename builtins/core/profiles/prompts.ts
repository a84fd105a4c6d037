import type { Profile } from './contract.ts'

/** Returns name and role, which come first in every prompt. */
export function rolePrompt({ name, role }: Profile): string {
  return `You are ${name}.\n\nRole: ${role}`
}

/** Returns the agent's manner and motives; empty if the profile has none. */
export function personaPrompt({ persona, personality }: Profile): string {
  return section([
    personality.traits.length > 0 && `Traits: ${personality.traits.join(', ')}`,
    personality.style && `Style: ${personality.style}`,
    persona?.purpose && `Purpose: ${persona.purpose}`,
    persona && persona.values.length > 0 && `Values: ${persona.values.join(', ')}`,
    persona && persona.fears.length > 0 && `Fears: ${persona.fears.join(', ')}`,
    persona && persona.goals.length > 0 && `Long-term goals: ${persona.goals.join('; ')}`,
  ])
}

/** Returns the agent's current mood; empty without a persona. */
export function moodPrompt({ persona }: Profile): string {
  return persona ? `Just now: ${moodWords(persona)}.` : ''
}

/** Returns the description of an agent and its way of working, without its mood, which changes. */
export function constantPrompt(profile: Profile, skills: string): string {
  return section([rolePrompt(profile), personaPrompt(profile), profile.system_prompt.trim(), skills])
}

/** Returns the complete description of an agent and its way of working. */
export function selfPrompt(profile: Profile, skills: string): string {
  return section([constantPrompt(profile, skills), moodPrompt(profile)])
}

/**
 * Returns the headings of skills with the paragraph below each, for prompts that ask which goal to choose. Details
 * follow later.
 */
export function outlineOf(skills: string): string {
  const paragraphs = skills.split(/\n\s*\n/).map(text => text.trim())
  const kept = paragraphs.filter(
    (text, at) => at === 0 || text.startsWith('# ') || paragraphs[at - 1]!.startsWith('# '),
  )
  return kept.join('\n\n')
}

function section(parts: readonly (string | false | null | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}

function moodWords(persona: NonNullable<Profile['persona']>): string {
  const level = (value: number) => (value >= 0.7 ? 'high' : value >= 0.4 ? 'moderate' : 'low')
  const { risk_tolerance, social_drive, concentration, autonomy_level, happiness } = persona
  return [
    `risk tolerance ${level(risk_tolerance)}`,
    `social drive ${level(social_drive)}`,
    `concentration ${level(concentration)}`,
    `autonomy ${level(autonomy_level)}`,
    `cheerfulness ${Math.round(happiness * 100)} %`,
  ].join(', ')
}
