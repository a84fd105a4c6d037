import { Agents } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import { addRetentionRule, RetentionRules } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { keepOfRemoved, numberOfRemovable, removable } from './repository.ts'

const HOUR_MS = 3_600_000

/** Removes ended sub-agents, later their results, and instructions that were read. */
export function subAgentsForget(svc: PluginHandle): void {
  svc.add(RetentionRules, {
    name: 'ended_sub_agents',
    kept_ms: () => Number(svc.config.get('retention.ended_sub_agent_hours')) * HOUR_MS,
    count: before => numberOfRemovable(svc.use(Store), before),
    async piece(before, limit) {
      const ids = await removable(svc.use(Store), before, limit)
      for (const sub_agent_id of ids) {
        await svc.use(Store).apply([keepOfRemoved({ sub_agent_id })])
        await svc.use(Agents).delete(sub_agent_id)
      }
      return ids.length
    },
  })
  addRetentionRule(svc, {
    name: 'sub_agents',
    key: 'sub_agent_id',
    where: `status <> 'running' AND completed_at < ? AND told_at IS NOT NULL AND NOT EXISTS
      (SELECT 1 FROM agents_view a WHERE a.agent_id = sub_agents.sub_agent_id)`,
    stage: 1,
  })
  addRetentionRule(svc, { name: 'sub_agent_instructions', key: 'instruction_id', where: 'delivered_at < ?' })
}
