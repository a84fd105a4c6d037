import { OpenWorkSources, PromptSections, ResultNotes } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { addRetentionRule } from '#platform/retention/contract'
import { Effects } from '#platform/store/contract'
import { AutoReplies } from '#society/a2a/contract'
import { DelegationConfig } from './config.ts'
import { DelegationEnded, Delegations } from './contract.ts'
import { DelegationService } from './delegations.ts'
import { delegationOperations } from './operations.ts'
import { delegationPolicy } from './policy.ts'
import { DELEGATION_EFFECTS, HAS_OPEN } from './repository.ts'

const FILES_OF_SUB_AGENTS = 'Files that the evidence names are copied to your parent, if it cannot read them.'

export default definePlugin({
  name: 'delegation',
  description: 'Goals that agents delegate to each other, accepted or rejected by policy, with their results.',
  needs: ['a2a', 'goals'],
  section: 'delegation',
  config: DelegationConfig,
  setup(svc, config) {
    for (const effect of DELEGATION_EFFECTS) svc.add(Effects, effect.kind)
    for (const operation of delegationOperations) svc.operation(operation)
    addRetentionRule(svc, { name: 'delegations', key: 'delegation_id', where: "status <> 'pending' AND ended_at < ?" })
    svc.event('delegation_ended', DelegationEnded)
    svc.add(AutoReplies, delegationPolicy(svc, config))

    const service = new DelegationService(svc, config)
    svc.provide(Delegations, service)
    svc.add(PromptSections, {
      name: 'delegation',
      stage: 0,
      prompts: ['goal_opening'],
      text: async (agent, _, __, goal) => {
        if (goal?.origin === 'sub_agent') return FILES_OF_SUB_AGENTS
        return goal?.origin === 'delegated' ? service.opening(agent, goal) : undefined
      },
    })
    svc.add(OpenWorkSources, { name: 'delegation', condition: HAS_OPEN, open: goal_id => service.open(goal_id) })
    svc.add(ResultNotes, {
      name: 'delegation',
      note: async (claim, { origin }) =>
        origin === 'delegated' || origin === 'sub_agent' ? service.sendFiles(claim) : undefined,
    })
    svc.on('goal_completed', () => service.sweep())
    svc.on('goal_abandoned', () => service.sweep())
    svc.on('agent_deleted', () => service.sweep())
    svc.on('beat', () => service.sweep())
    svc.add(DaemonStarts, { name: 'delegation', begin: () => service.sweep() })
  },
})
