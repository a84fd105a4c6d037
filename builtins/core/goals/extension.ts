import { checkFields, type Extension, intercept } from '#kernel'
import { type GoalContext, GoalStrategies } from './contract.ts'

/** Adds `goalStrategy` to plugin handles. */
export const goalsExtension: Extension = (svc, { interceptor }) => ({
  goalStrategy(strategy) {
    checkFields(GoalStrategies.name, GoalStrategies.options.has, strategy, svc.name)
    const call = { kind: 'goal_strategy' as const, name: svc.name }
    return svc.add(GoalStrategies, {
      name: strategy.name ?? svc.name,
      ...(strategy.stage === undefined ? {} : { stage: strategy.stage }),
      ...(strategy.no_duplicates ? { no_duplicates: true } : {}),
      generateGoal: intercept(interceptor, call, (context: GoalContext) => strategy.generateGoal(context)),
    })
  },
})
