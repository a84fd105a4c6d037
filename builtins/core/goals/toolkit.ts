import { type PluginHandle, z } from '#kernel'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import { addGoal, parentFor } from './goals.ts'
import { updatePlan } from './pursuit/plan.ts'

/** Tools for agents to manage their goals. */
export function goalsToolkit(svc: PluginHandle): Toolkit {
  return {
    name: 'goals',
    everyday: true,
    tools: [
      updatePlan(svc),
      tool({
        name: 'add_subgoals',
        description:
          'Divide a goal that is too large for a few steps: each subgoal is pursued separately, in this order, and then this goal continues with their results. Each is pursued without this conversation: say all that it needs.',
        parameters: z.object({
          objectives: z
            .array(z.string().trim().min(10).max(500))
            .min(1)
            .max(8)
            .describe('One for each subgoal, in order: what must be achieved, with names of files and other facts'),
        }),
        async execute({ objectives }, call: ToolCall) {
          if (call.goal_id === null) throw new Error('this call belongs to no goal, so there is nothing to divide')
          const { agent_id, goal_id } = call
          const { priority } = await parentFor(svc, goal_id, agent_id, objectives.length)
          for (const [place, objective] of objectives.entries()) {
            const goal = { agent_id, objective, priority, origin: 'subgoal' as const, parent_goal_id: goal_id, place }
            for (const effect of addGoal(svc, goal).effects) call.effect(effect)
          }
          return `${objectives.length} subgoals are recorded and come first; you will be shown their results.`
        },
      }),
    ],
  }
}
