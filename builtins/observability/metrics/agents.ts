import { Agents } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import { shareCalls } from '#lib/share-calls'
import { Store } from '#platform/store/contract'
import type { Metric } from './contract.ts'
import { countPendingApprovals } from './repository.ts'

/** Returns the six gauges of the specification, and what waits for the operator. */
export function agentMetrics(svc: PluginHandle): Metric[] {
  const counts = shareCalls(async () => (svc.has(Agents) ? svc.use(Agents).counts() : undefined))
  type Counts = NonNullable<Awaited<ReturnType<typeof counts>>>
  const gauge = (name: string, help: string, of: (counts: Counts) => number): Metric => ({
    name,
    help,
    type: 'gauge',
    collect: async () => {
      const counted = await counts()
      return counted ? of(counted) : 0
    },
  })
  return [
    gauge('svc_agents_working', 'Agents in a cycle now.', each => each.working),
    gauge('svc_agents_idle', 'Agents between two cycles.', each => each.idle),
    gauge(
      'svc_agents_waiting',
      'Agents that wait for an approval or another event.',
      each => each.waiting + each.waiting_approval,
    ),
    gauge('svc_agents_paused', 'Paused agents.', each => each.paused),
    gauge('svc_agents_dead', 'Agents that are dead and not deleted.', each => each.dead),
    gauge('svc_goals_active', 'Active goals.', each => each.goals_active),
    {
      name: 'svc_approvals_pending',
      help: 'Tool calls that wait for approval by the operator.',
      type: 'gauge',
      collect: () => countPendingApprovals(svc.use(Store)),
    },
  ]
}
