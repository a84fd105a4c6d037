import { type Cycle, definePlugin } from '#kernel'
import { Effects, Store } from '../store/contract.ts'
import { assemble } from './assembly.ts'
import { GoalsConfig } from './config.ts'
import { ActiveGoal, ToolResult } from './contract.ts'
import { existenceLoop } from './existence.ts'
import { generate } from './generation.ts'
import { goalOperations } from './operations.ts'
import { ended, orFail } from './outcome.ts'
import { pursue } from './pursuit.ts'
import { allActiveGoals, GOAL_EFFECTS } from './repository.ts'

export default definePlugin({
  name: 'goals',
  description: 'What agents want: goals are generated, pursued step by step over heartbeats, and brought to an end.',
  needs: ['store', 'agents', 'profiles', 'runtime'],
  section: 'daemon',
  config: GoalsConfig,
  setup(svc, config) {
    for (const effect of GOAL_EFFECTS) svc.add(Effects, effect.kind)
    for (const operation of goalOperations(svc)) svc.operation(operation)
    svc.event('tool_result', ToolResult)
    svc.goalStrategy(existenceLoop(svc))

    svc.tap('context_assembly', 'goals', (cycle: Cycle) => orFail(svc, config, cycle, () => assemble(svc, cycle)))
    svc.tap('goal_generation', 'goals', (cycle: Cycle) => orFail(svc, config, cycle, () => generate(svc, cycle)))
    svc.tap('goal_pursuit', 'goals', (cycle: Cycle) => orFail(svc, config, cycle, () => pursue(svc, config, cycle)))
    svc.tap('cleanup', 'goals', (cycle: Cycle) => {
      const goal = cycle.get(ActiveGoal)
      if (cycle.result !== 'timeout' || config.preserve_active_goals_on_timeout || !goal) return
      cycle.effects.push(...ended(goal, 'abandoned', 'Its cycle timed out.'))
    })

    svc.start(async () => {
      if (config.preserve_active_goals_on_restart) return
      const goals = await allActiveGoals(svc.use(Store))
      await svc.use(Store).apply(goals.flatMap(goal => ended(goal, 'abandoned', 'The daemon was restarted.')))
    })
  },
})
