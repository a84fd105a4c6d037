import type { AgentRow } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import { isoTime, Store } from '#platform/store/contract'
import type { LifeSummary } from '#society/identity/contract'
import type { SufferingState } from './contract.ts'
import { extremesOf } from './repository.ts'

/** Returns mood, load and extremes of an agent's life, for its summary and biography. */
export function lifeSummary(
  svc: PluginHandle,
  stateOf: (agent: AgentRow) => Promise<SufferingState | null>,
): LifeSummary {
  return {
    name: 'suffering',
    title: 'Mood and suffering',
    async summarize(agent) {
      const state = await stateOf(agent)
      if (!state) return undefined
      const { mood, load, waking_hours } = state
      const extremes = await extremesOf(svc.use(Store), agent.agent_id)
      if (!extremes) return { mood, load, waking_hours }
      // The current load is not among the recorded moments yet.
      const peak = load > extremes.peak_load ? { peak_load: load, peak_at: svc.clock.ms() } : extremes
      return { mood, load, waking_hours, ...extremes, peak_load: peak.peak_load, peak_at: isoTime(peak.peak_at) }
    },
  }
}
