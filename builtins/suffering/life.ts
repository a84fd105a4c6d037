import type { PluginHandle } from '#kernel'
import type { AgentRow } from '../agents/contract.ts'
import type { LifeSummary } from '../identity/contract.ts'
import { isoTime, Store } from '../store/contract.ts'
import type { SufferingState } from './contract.ts'
import { extremesOf } from './repository.ts'

/** How a life felt, for its summary and its biography. */
export function lifeSummary(
  svc: PluginHandle,
  stateOf: (agent: AgentRow) => Promise<SufferingState | null>,
): LifeSummary {
  return {
    name: 'suffering',
    title: 'How it felt',
    async summarize(agent) {
      const state = await stateOf(agent)
      if (!state) return undefined
      const extremes = await extremesOf(svc.use(Store), agent.agent_id)
      return {
        ...{ mood: state.mood, load: state.load, waking_hours: state.waking_hours },
        ...(extremes && { ...extremes, peak_at: isoTime(extremes.peak_at) }),
      }
    },
  }
}
