import type { AgentFacet } from '#core/agents/contract'
import type { GoalContextPart, PromptSection } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import type { EconomyConfig } from '../config.ts'
import { STATS, type Stat } from '../contract.ts'
import { findCitizen } from '../repository.ts'
import { conditionLine, shownCitizen, statusLine } from './describe.ts'

/** Returns the prompt sections with an agent's money, work and condition. */
export function worldSections(svc: PluginHandle, config: EconomyConfig): PromptSection[] {
  const row = (agent_id: string) => findCitizen(svc.use(Store), agent_id)
  const common = { inner: 'economy', prompts: ['goal_generation', 'goal_state'] } as const
  return [
    {
      ...common,
      name: 'economic_status',
      stage: 40,
      async text({ agent_id }) {
        const citizen = await row(agent_id)
        return citizen && `Economic status: ${statusLine(svc, config, citizen)}`
      },
    },
    {
      ...common,
      name: 'condition',
      stage: 41,
      async text({ agent_id }) {
        const citizen = await row(agent_id)
        return citizen && `Condition: ${conditionLine(citizen)}`
      },
    },
  ]
}

/** Returns the same facts for custom goal strategies. */
export function worldPart(svc: PluginHandle, config: EconomyConfig): GoalContextPart {
  return {
    name: 'economy',
    async part({ agent_id }) {
      const citizen = await findCitizen(svc.use(Store), agent_id)
      if (!citizen) return { economy_enabled: true, world_status: '', agent_stats: null }
      const stats = Object.fromEntries(STATS.map(stat => [stat, citizen[stat] / 1000]))
      const world_status = statusLine(svc, config, citizen)
      return { economy_enabled: true, world_status, agent_stats: stats as Record<Stat, number> }
    },
  }
}

/** Returns the field `world` of an agent's details; null for an agent that is no citizen. */
export function worldFacet(svc: PluginHandle): AgentFacet {
  return {
    name: 'world',
    async read({ agent_id }) {
      const citizen = await findCitizen(svc.use(Store), agent_id)
      return citizen ? { ...(await shownCitizen(svc, citizen)) } : null
    },
  }
}
