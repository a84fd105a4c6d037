import { ActiveAgent, DeleteHooks, Worktrees } from '#core/agents/contract'
import { ActiveGoal } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { type Cycle, neverHasWork } from '#platform/heartbeat/contract'
import { Effects } from '#platform/store/contract'
import { ChangesKept } from './contract.ts'
import { worktreeOperations } from './operations.ts'
import { enterBranch, forgetBranch, moveBase } from './repository.ts'
import { keepUnmerged } from './review.ts'
import { enterGoal, hasWorktree, worktreesFor } from './tree.ts'

export default definePlugin({
  name: 'worktrees',
  description: 'Gives each agent its own git branches in a shared repository, and lets you review its changes.',
  needs: ['store', 'agents', 'goals', 'sandbox'],
  setup(svc) {
    for (const effect of [enterBranch, moveBase, forgetBranch]) svc.add(Effects, effect.kind)
    svc.provide(Worktrees, worktreesFor(svc))
    for (const operation of worktreeOperations) svc.operation(operation)
    svc.event('changes_kept', ChangesKept)
    svc.add(DeleteHooks, { name: 'worktrees', part: agent => keepUnmerged(svc, agent) })
    svc.tap('goal_pursuit', { name: 'worktrees', stage: -100, hasWork: neverHasWork }, async (cycle: Cycle) => {
      const agent = cycle.get(ActiveAgent)
      const goal = cycle.get(ActiveGoal)
      if (agent && goal && hasWorktree(agent)) await enterGoal(svc, agent, goal.goal_id)
    })
  },
})
