import { Agents } from '#core/agents/contract'
import { type PluginHandle, z } from '#kernel'
import { Store, wakeAgents } from '#platform/store/contract'
import { type Tool, type ToolCall, ToolError, type Toolkit, tool } from '#tools/toolkits/contract'
import { abandonGoal, addGoal, parentFor } from './goals.ts'
import { updatePlan } from './pursuit/plan.ts'
import { findGoal, goalAtHand } from './repository.ts'

/** Priority of goals that agents add in conversations, the same as that of `goals.add`. */
const PRIORITY = 4

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
        only_in: 'goal',
        async execute({ objectives }, call: ToolCall) {
          if (call.goal_id === null) throw new Error('this call belongs to no goal, so there is nothing to divide')
          const { agent_id, goal_id } = call
          const { priority } = await parentFor(svc, goal_id, agent_id, objectives.length)
          for (const [place, objective] of objectives.entries()) {
            const goal = { agent_id, objective, priority, origin: 'subgoal' as const, parent_goal_id: goal_id, place }
            for (const effect of addGoal(svc, goal).effects) call.effect(effect)
          }
          return objectives.length === 1
            ? 'The subgoal is recorded and comes first; you will be shown its result.'
            : `${objectives.length} subgoals are recorded and come first; you will be shown their results.`
        },
      }),
      addGoalTool(svc),
      nudgeGoalTool(svc),
      abandonGoalTool(svc),
    ],
  }
}

function addGoalTool(svc: PluginHandle): Tool {
  return tool({
    name: 'add_goal',
    description:
      'Give yourself a goal, if the person wants work done apart from this conversation. It is pursued later, without this conversation: say all that it needs. Its result does not come here by itself; you see it when the person writes again.',
    parameters: z.object({
      objective: z
        .string()
        .trim()
        .min(10)
        .max(4000)
        .describe('What must be achieved, with names of files and other facts'),
    }),
    only_in: 'task',
    async execute({ objective }, { agent_id, effect }: ToolCall) {
      const goal = { agent_id, objective, priority: PRIORITY, origin: 'operator' as const, parent_goal_id: null }
      const { goal_id, effects } = addGoal(svc, goal)
      for (const each of [...effects, wakeAgents({ agents: [agent_id], reason: 'goal' })]) effect(each)
      return `Added as ${goal_id}. The person sees it with: svc goals ${agent_id}`
    },
  })
}

function nudgeGoalTool(svc: PluginHandle): Tool {
  return tool({
    name: 'nudge_goal',
    description:
      'Pass on what the person wants of the goal that you pursue at present, such as a change. You read it there before your next step, without this conversation: say all that it needs.',
    parameters: z.object({ message: z.string().trim().min(1).max(4000) }),
    only_in: 'task',
    async execute({ message }, { agent_id, effect }: ToolCall) {
      const goal = await goalAtHand(svc.use(Store), agent_id)
      if (!goal) throw new ToolError({ problem: 'You have no active goal; add one with add_goal.' })
      for (const each of svc.use(Agents).nudgeEffects(agent_id, message)) effect(each)
      return `Sent; ${goal.goal_id} is next to read it.`
    },
  })
}

function abandonGoalTool(svc: PluginHandle): Tool {
  return tool({
    name: 'abandon_goal',
    description: 'End one of your active goals and its subgoals for good, if the person asks for that.',
    parameters: z.object({
      goal_id: z.string().trim().min(1).max(128).describe('Id of the goal, such as goal-9c8b7a6d5e4f'),
      reason: z.string().trim().min(1).max(1000).describe('Reason, for the record'),
    }),
    only_in: 'task',
    async execute({ goal_id, reason }, { agent_id, effect }: ToolCall) {
      const goal = await findGoal(svc.use(Store), goal_id)
      if (goal?.agent_id !== agent_id)
        throw new ToolError({ problem: `You have no goal ${goal_id}; your state lists the active ones.` })
      if (goal.status !== 'active') throw new ToolError({ problem: `The goal ${goal_id} is ${goal.status} already.` })
      const effects = await abandonGoal(svc, goal, reason)
      for (const each of [...effects, wakeAgents({ agents: [agent_id], reason: 'goal abandoned' })]) effect(each)
      return `The goal ${goal_id} is abandoned.`
    },
  })
}
