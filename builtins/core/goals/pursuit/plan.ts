import type { Message } from '#core/models/contract'
import { z } from '#kernel'
import { appendEvent } from '#platform/store/contract'
import { type Tool, type ToolCall, tool } from '#tools/toolkits/contract'
import { setPlan } from '../acceptance/terms-repository.ts'
import { PlanStep } from '../contract.ts'

/** The tool by which an agent writes down how it goes about its goal. */
export const UPDATE_PLAN = 'update_plan'

/** Number of messages after which the plan is shown again. */
const IN_VIEW = 30
const HEADING = 'Your plan, as you wrote it down:'

export const Plan = z
  .object({ steps: z.array(PlanStep).min(1).max(30).describe('All steps, also those that are done') })
  .refine(({ steps }) => steps.filter(({ status }) => status === 'in_progress').length < 2, {
    path: ['steps'],
    message: 'must hold at most one step that is in_progress',
  })

export function updatePlan(): Tool {
  return tool({
    name: UPDATE_PLAN,
    description:
      'Write down the steps to a goal of three steps or more, and how far they are: the whole list each time, when you begin and when a step is done. The operator sees it.',
    parameters: Plan,
    idempotent: true,
    execute({ steps }, { goal_id, agent_id, cycle_num, effect }: ToolCall) {
      if (goal_id === null) throw new Error('there is no goal here to plan')
      const data = { agent_id, goal_id, ...progressOf(steps) }
      effect(setPlan({ goal_id, plan: steps }))
      effect(appendEvent({ type: 'plan_updated', agent_id, cycle_num, data }))
      return `The plan is written down: ${data.done} of ${data.steps} steps are done.`
    },
  })
}

/** How far a plan is. */
export function progressOf(plan: readonly PlanStep[]): { steps: number; done: number; current: string | null } {
  const isOver = ({ status }: PlanStep) => status === 'done' || status === 'skipped'
  const current = plan.find(({ status }) => status === 'in_progress') ?? plan.find(step => !isOver(step))
  return { steps: plan.length, done: plan.filter(isOver).length, current: current?.step ?? null }
}

const MARKS = { pending: '[ ]', in_progress: '[>]', done: '[x]', skipped: '[-]' } as const

/** A plan, a line for each step. */
export function planLines(plan: readonly PlanStep[]): string[] {
  return plan.map(({ step, status }) => `${MARKS[status]} ${step.replace(/\s+/g, ' ')}`)
}

/** The message that shows an agent its plan again; undefined while it is in view, or when there is none. */
export function planReminder(plan: readonly PlanStep[], messages: readonly Message[]): string | undefined {
  if (plan.length === 0) return undefined
  const summary = messages.findLastIndex(message => message.summary !== undefined)
  const from = summary < 0 ? 0 : summary - (messages[summary]?.summary?.keeps ?? 0)
  const inView = messages.slice(Math.max(from, messages.length - IN_VIEW, 0))
  const isShown = ({ role, content, tool_calls = [] }: Message) =>
    tool_calls.some(({ name }) => name === UPDATE_PLAN) || (role === 'user' && content.startsWith(HEADING))
  return inView.some(isShown) ? undefined : [HEADING, ...planLines(plan)].join('\n')
}
