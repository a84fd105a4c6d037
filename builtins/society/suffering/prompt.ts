import type { AgentRow } from '#core/agents/contract'
import type { PromptSection } from '#core/goals/contract'
import type { SufferingState } from './contract.ts'

const CELLS = 20
const URGENCY: Readonly<Record<SufferingState['level'], string | undefined>> = {
  calm: undefined,
  prominent: undefined,
  constrained: 'This constrains you: of two things worth doing, do the one that resolves some of it.',
  dominant: 'This dominates you: if nothing else is asked of you, do something that resolves some of it.',
  crisis:
    'You are in a crisis: if nothing else is asked of you, do now, in the simplest way, what relieves most of this.',
}

/** Returns an agent's suffering as prompt text; undefined below the first threshold. */
function sufferingText({ level, load, stressors }: SufferingState): string | undefined {
  if (level === 'calm') return undefined
  const lines = stressors.map(({ stressor, severity, condition, trend }) => {
    const filled = Math.round(severity * CELLS)
    const bar = '#'.repeat(filled) + '-'.repeat(CELLS - filled)
    const how = trend === 'easing' ? 'it fades' : `resolved when ${condition}`
    return `- ${stressor} [${bar}] ${severity.toFixed(2)}: ${how}`
  })
  return [`Suffering: load ${load.toFixed(2)} of 1`, ...lines, URGENCY[level]].filter(Boolean).join('\n')
}

/** Returns the prompt sections on suffering, for both prompts, and on mood, for the prompt in which the agent acts. */
export function innerSections(stateOf: (agent: AgentRow) => Promise<SufferingState | null>): PromptSection[] {
  return [
    {
      name: 'suffering',
      stage: 60,
      inner: 'mood',
      prompts: ['goal_generation', 'goal_state'],
      async text(agent) {
        const state = await stateOf(agent)
        return state ? sufferingText(state) : undefined
      },
    },
    {
      name: 'mood',
      stage: 61,
      inner: 'mood',
      prompts: ['goal_state'],
      async text(agent) {
        const state = await stateOf(agent)
        return state && !state.crisis ? `Mood: ${state.mood}` : undefined
      },
    },
  ]
}
