import { ActiveAgent, ProfileShapes } from '#core/agents/contract'
import { OpenWorkSources, PendingMessages, PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { type Cycle, type HasWork, idsOf } from '#platform/heartbeat/contract'
import { ConfigChecks } from '#platform/settings/contract'
import { Effects, Store } from '#platform/store/contract'
import { SubAgentEnded, SubAgentSpawned } from './contract.ts'
import { subAgentOperations } from './operations.ts'
import { subAgentMessages, subAgentSection } from './pending-messages.ts'
import { childShape, SubAgentsConfig, toolkitsCheck, warnOfToolkits } from './profile.ts'
import { countCycle, HAS_RUNNING, SUB_AGENT_EFFECTS, spawnedAmong } from './repository.ts'
import { subAgentsForget } from './retention.ts'
import { OwnSubAgents, SubAgents } from './sub-agents.ts'
import { subAgentsToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'sub-agents',
  description: 'Agents that other agents create for one task, with limits of number, depth, tools and time.',
  needs: ['store', 'agents', 'goals', 'profiles', 'runtime'],
  setup(svc) {
    const config = svc.section('tools', SubAgentsConfig)
    const subAgents = new SubAgents(svc)
    for (const effect of SUB_AGENT_EFFECTS) svc.add(Effects, effect.kind)
    svc.provide(OwnSubAgents, subAgents)
    for (const operation of subAgentOperations) svc.operation(operation)
    subAgentsForget(svc)
    svc.event('sub_agent_spawned', SubAgentSpawned)
    svc.event('sub_agent_ended', SubAgentEnded)
    svc.toolkit(subAgentsToolkit(svc, subAgents, config))
    svc.add(PendingMessages, subAgentMessages(svc))
    svc.add(PromptSections, subAgentSection(svc))
    svc.add(OpenWorkSources, { name: 'sub-agents', condition: HAS_RUNNING, open: goal_id => subAgents.open(goal_id) })
    svc.add(ProfileShapes, childShape(svc, config))
    svc.add(ConfigChecks, toolkitsCheck(svc))

    const hasWork: HasWork = due => spawnedAmong(svc.use(Store), idsOf(due))
    for (const phase of ['goal_pursuit', 'goal_generation'] as const)
      svc.guard(phase, { name: 'sub-agents', shouldProceed: gate => subAgents.mayWork(gate) }, { hasWork })
    svc.tap('goal_pursuit', { name: 'sub-agents', stage: -1000 }, async (cycle: Cycle) => {
      if (cycle.get(ActiveAgent)?.spawned_by) await cycle.save([countCycle({ sub_agent_id: cycle.agent_id })])
    })

    const sweep = () => subAgents.sweep()
    svc.on('goal_completed', ({ agent_id }) => subAgents.sweepEnded(agent_id))
    svc.on('goal_abandoned', sweep)
    svc.on('agent_died', sweep)
    svc.on('agent_deleted', sweep)
    svc.on('beat', sweep)
    svc.add(DaemonStarts, {
      name: 'sub-agents',
      async begin() {
        warnOfToolkits(svc, config)
        await sweep()
      },
    })
  },
})
