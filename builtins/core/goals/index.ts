import { BlockReasons, FirstGoals } from '#core/agents/contract'
import { BundleParts, CheckpointParts } from '#core/checkpoints/contract'
import { CallLimits } from '#core/models/contract'
import { definePlugin, ROLES } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { DaemonStarts } from '#platform/daemon/contract'
import { type Cycle, type HasWork, neverHasWork } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { refuseUncheckable } from './acceptance/acceptance.ts'
import { AcceptanceCommands, OwnCommands } from './acceptance/commands.ts'
import { ACCEPTANCE_EFFECTS } from './acceptance/repository.ts'
import { TERMS_EFFECTS } from './acceptance/terms-repository.ts'
import { goalsBundle, insertHistory } from './checkpoint/bundle.ts'
import { goalsCheckpoint, restoreGoal } from './checkpoint/checkpoint.ts'
import { GoalsConfig } from './config.ts'
import { assemble } from './context/assembly.ts'
import { situationOf } from './context/situation.ts'
import {
  ActiveGoal,
  GoalAdded,
  GoalChanged,
  GoalDeclined,
  GoalNotAccepted,
  GoalRefused,
  GoalStrategies,
  Goals,
  PlanUpdated,
  ToolResult,
} from './contract.ts'
import { existenceLoop } from './generation/existence.ts'
import { generate } from './generation/generation.ts'
import { allWokeUp, findAgentsToRun, IDLE_EFFECTS } from './generation/idle.ts'
import { abandonGoal, addGoal, endedGoalLimit, endOverdue } from './goals.ts'
import { goalOperations } from './operations.ts'
import { goalEnding, orFail } from './pursuit/outcome.ts'
import { pursue } from './pursuit/pursuit.ts'
import { TranscriptCache } from './pursuit/transcript-cache.ts'
import { activeGoals, GOAL_EFFECTS, listReadyGoals, unparkGoals } from './repository.ts'
import { goalsForget } from './retention.ts'
import { goalsToolkit } from './toolkit.ts'
import { goalsContext } from './views/context-window.ts'
import { storyOperations } from './views/story.ts'
import { goalBlockReasons } from './views/why.ts'

export default definePlugin({
  name: 'goals',
  description: 'Goals of agents: generated, pursued step by step over heartbeats, completed or abandoned.',
  needs: ['store', 'agents', 'profiles', 'runtime'],
  section: 'daemon',
  config: GoalsConfig,
  setup(svc, config) {
    const transcripts = new TranscriptCache()
    svc.goalStrategy(existenceLoop(svc))
    svc.add(CallLimits, endedGoalLimit)
    svc.tap('goal_generation', { name: 'goals', hasWork: neverHasWork }, (cycle: Cycle) =>
      orFail(svc, config, cycle, () => generate(svc, config, cycle)),
    )
    svc.tap('goal_pursuit', 'goals', (cycle: Cycle) =>
      orFail(svc, config, cycle, () => pursue(svc, config, transcripts, cycle)),
    )
  },
  // A plugin that replaces the loop pursues the goal found here. Without `hasWork`, agents with a goal would be skipped
  // as idle.
  base(svc, config) {
    const hasWork: HasWork = due => findAgentsToRun(svc, config, due)
    svc.tap('context_assembly', { name: 'goals', hasWork }, (cycle: Cycle) =>
      orFail(svc, config, cycle, () => assemble(svc, cycle)),
    )
    svc.tap('cleanup', { name: 'goals', hasWork: neverHasWork }, (cycle: Cycle) => {
      const goal = cycle.get(ActiveGoal)
      if (cycle.result !== 'timeout' || config.preserve_active_goals_on_timeout || !goal) return
      cycle.effects.push(...goalEnding(goal, 'abandoned', 'Its cycle timed out.'))
    })
    const effects = [
      ...GOAL_EFFECTS,
      ...ACCEPTANCE_EFFECTS,
      ...TERMS_EFFECTS,
      ...IDLE_EFFECTS,
      restoreGoal,
      insertHistory,
    ]
    for (const effect of effects) svc.add(Effects, effect.kind)
    const goals: Goals = {
      refuseUncheckable: (acceptance, agent_id) => refuseUncheckable(svc, acceptance, agent_id),
      add: goal => addGoal(svc, goal),
      complete: (goal, result) => goalEnding(goal, 'completed', result),
      abandon: (goal, reason) => abandonGoal(svc, goal, reason),
      listActive: agent_id => activeGoals(svc.use(Store), agent_id),
      describe: (agent, about) => situationOf(svc, agent, about),
    }
    svc.provide(
      Goals,
      withEarlierNames(goals, { added: 'add', completed: 'complete', abandoned: 'abandon', active: 'listActive' }),
    )
    svc.provide(FirstGoals, {
      add: (agent_id, objective) =>
        svc.use(Goals).add({ agent_id, objective, priority: 4, origin: 'operator', parent_goal_id: null }).effects,
    })
    const commands = new AcceptanceCommands(svc, config)
    svc.provide(OwnCommands, commands)
    svc.start(() => () => commands.stopAll(), { in: ROLES })
    goalsForget(svc)
    svc.add(CheckpointParts, goalsCheckpoint(svc))
    svc.add(BundleParts, goalsBundle(svc))
    const operations = [...goalOperations, ...storyOperations, goalsContext]
    for (const operation of operations) svc.operation(operation)
    svc.event('tool_result', ToolResult)
    svc.event('goal_added', GoalAdded)
    svc.event('goal_changed', GoalChanged)
    svc.event('goal_refused', GoalRefused)
    svc.event('goal_not_accepted', GoalNotAccepted)
    svc.event('goal_declined', GoalDeclined)
    svc.event('plan_updated', PlanUpdated)
    svc.toolkit(goalsToolkit(svc))
    for (const hold of goalBlockReasons(svc)) svc.add(BlockReasons, hold)

    svc.on('beat', () => endOverdue(svc))
    svc.on('config_changed', () => svc.use(Store).apply([allWokeUp({})]))
    svc.onChange(GoalStrategies, () => {
      if (svc.heartbeat.live) void svc.use(Store).apply([allWokeUp({})])
    })
    svc.add(DaemonStarts, {
      name: 'goals',
      async begin() {
        const store = svc.use(Store)
        const goals = config.preserve_active_goals_on_restart ? [] : await listReadyGoals(store)
        const given = goals.flatMap(goal => goalEnding(goal, 'abandoned', 'The daemon was restarted.'))
        await store.apply([allWokeUp({}), unparkGoals({}), ...given])
      },
    })
  },
})
