import { PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { currentService } from '#lib/current-service'
import { DaemonStarts } from '#platform/daemon/contract'
import { Effects } from '#platform/store/contract'
import { SwarmConfig, SwarmSettings } from './config.ts'
import { Specialists, SwarmLearned, SwarmPolicies, SwarmReverted, TaskTypes } from './contract.ts'
import { swarmOperations } from './operations.ts'
import { POLICIES } from './policies.ts'
import { Records } from './records.ts'
import { swarmSection } from './sections.ts'
import { OwnSwarm, Swarm } from './swarm.ts'
import { TASK_TYPES } from './task-types.ts'
import { SWARM_EFFECTS } from './writes.ts'

export default definePlugin({
  name: 'swarm',
  description: 'Learns from the results of all agents who is good at which work, and acts on it by a policy.',
  needs: ['store', 'agents', 'goals'],
  section: 'swarm',
  config: SwarmConfig,
  setup(svc, config) {
    for (const effect of SWARM_EFFECTS) svc.add(Effects, effect.kind)
    for (const type of TASK_TYPES) svc.add(TaskTypes, type)
    for (const policy of POLICIES) svc.add(SwarmPolicies, policy)
    svc.event('swarm_learned', SwarmLearned)
    svc.event('swarm_reverted', SwarmReverted)

    const records = new Records(svc)
    const swarm = new Swarm(svc, config, records)
    svc.provide(Specialists, swarm)
    const current = currentService(svc, Specialists, swarm)
    svc.add(PromptSections, swarmSection(svc, current))
    svc.provide(OwnSwarm, current)
    svc.provide(SwarmSettings, config)
    for (const operation of swarmOperations) svc.operation(operation)
    svc.on('beat', ({ beat }) => swarm.onHeartbeat(beat))
    svc.add(DaemonStarts, { name: 'swarm', begin: () => records.look() })
  },
})
