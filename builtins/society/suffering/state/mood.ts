import { errorMessage, type PluginHandle } from '#kernel'
import { type InnerState, type MoodModel, Moods, type PersonaFields } from '../contract.ts'
import { clamp, loadOf, type PersistedState } from './state.ts'

const MARKED = 0.3
const STIRRED = 0.5
const LONGEST_MOOD = 32

/** The built-in mood model, asked last: maps valence and arousal to a word. */
export const circumplex: MoodModel = {
  name: 'valence-arousal',
  stage: 1000,
  mood({ valence, arousal, crisis }) {
    if (crisis) return 'overwhelmed'
    const stirred = arousal >= STIRRED
    if (valence >= MARKED) return stirred ? 'motivated' : 'content'
    if (valence <= -MARKED) return stirred ? 'anxious' : 'discouraged'
    return stirred ? 'restless' : 'steady'
  },
}

/** M: derives the inputs of mood models from happiness and load; they are not stored. */
export function innerStateOf(agent_id: string, inner: PersistedState, persona: PersonaFields): InnerState {
  const load = loadOf(inner)
  const { crisis } = inner
  return { agent_id, load, crisis, persona, valence: clamp(persona.happiness - load, -1), arousal: crisis ? 1 : load }
}

/** Returns the mood named by the models; falls back to the built-in model when one fails. */
export async function moodOf(svc: PluginHandle, state: InnerState): Promise<string> {
  let mood: unknown
  try {
    mood = await svc.ask<typeof Moods, InnerState, string>(Moods as never, state)
    if (typeof mood !== 'string') throw new TypeError(`the model returned ${typeof mood} instead of a word`)
  } catch (error) {
    svc.log.warn({ agent_id: state.agent_id }, `a mood model failed: ${errorMessage(error)}`)
    mood = circumplex.mood(state)
  }
  return typeof mood === 'string' && mood.trim() !== '' ? oneWord(mood) : 'steady'
}

function oneWord(mood: string): string {
  return (
    mood
      .replace(/[^\p{L}\p{N} -]+/gu, '')
      .trim()
      .slice(0, LONGEST_MOOD) || 'steady'
  )
}
