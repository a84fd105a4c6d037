import { Agents } from '#core/agents/contract'
import type { Message } from '#core/models/contract'
import { Runtime } from '#core/runtime/contract'
import { type Effect, type PluginHandle, z } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import { Approvals } from '#safety/approvals/contract'
import { type Tool, type ToolCall, tool } from '#tools/toolkits/contract'
import { refuseUncheckable } from '../acceptance/acceptance.ts'
import { isOwn, readAcceptance, setAcceptance, uncheckedTerms } from '../acceptance/repository.ts'
import { setPlan } from '../acceptance/terms-repository.ts'
import { PlanStep } from '../contract.ts'
import { findGoal } from '../repository.ts'

/** Name of the tool with which an agent writes a plan for its goal. */
export const UPDATE_PLAN = 'update_plan'

/** Number of messages after which the plan is shown again. */
const REMINDER_INTERVAL = 30
/** Maximum number of acceptance criteria of one goal. */
const MAX_CRITERIA = 20
const HEADING = 'Your plan, as you wrote it down:'

export const Plan = z.object({
  steps: z.array(PlanStep).min(1).max(30).describe('All steps, including those that are done'),
  done_when: z
    .array(z.string().trim().min(1).max(500))
    .max(5)
    .default([])
    .describe(
      'Only for a goal that you chose yourself: commands that must exit with 0 before the goal counts as reached',
    ),
})

export function updatePlan(svc: PluginHandle): Tool {
  return tool({
    name: UPDATE_PLAN,
    description:
      'Write down the steps to a goal of three steps or more, and their progress. Send the whole list each time, when you begin and when a step is done. The operator sees it.',
    parameters: Plan,
    idempotent: true,
    only_in: 'goal',
    async execute({ steps, done_when }, { goal_id, agent_id, cycle_num, effect }: ToolCall) {
      if (goal_id === null) throw new Error('this call belongs to no goal, so there is nothing to plan')
      if (done_when.length > 0) {
        await refuseUnlessFree(svc, agent_id)
        effect(await addCriteria(svc, goal_id, done_when))
      }
      const data = { agent_id, goal_id, ...progressOf(steps) }
      effect(setPlan({ goal_id, plan: steps }))
      effect(appendEvent({ type: 'plan_updated', agent_id, cycle_num, data }))
      return `The plan is written down: ${data.done} of ${data.steps} steps are done.`
    },
  })
}

/** Refuses commands to an agent that may not run them itself, or only with an approval: criteria run without one. */
async function refuseUnlessFree(svc: PluginHandle, agent_id: string): Promise<void> {
  const profile = await svc.use(Agents).profileOf(await svc.use(Agents).find(agent_id))
  const shell = svc.use(Runtime).toolsFor(profile).find('shell_exec')
  if (!shell) throw new Error('you have no tool shell_exec, so you can set no commands; leave done_when out')
  if (svc.has(Approvals) && svc.use(Approvals).needsApproval(shell))
    throw new Error('each of your commands needs an approval; leave done_when out, and run them with shell_exec')
}

/**
 * Returns the write that adds commands to the criteria of a goal that the agent chose itself. Existing criteria stay.
 */
async function addCriteria(svc: PluginHandle, goal_id: string, commands: readonly string[]): Promise<Effect> {
  const goal = await findGoal(svc.use(Store), goal_id)
  if (!goal || !isOwn(goal)) throw new Error('you cannot set criteria for this goal; leave done_when out')
  const existing = readAcceptance(goal.acceptance)
  const added = commands
    .filter(command => !existing.some(each => each.command === command))
    .map(command => ({ command }))
  await refuseUncheckable(svc, added)
  return setAcceptance({
    goal_id,
    acceptance: [...existing, ...uncheckedTerms(added)].slice(0, MAX_CRITERIA),
    refused: false,
  })
}

/** Returns the progress of a plan. */
export function progressOf(plan: readonly PlanStep[]): { steps: number; done: number; current: string | null } {
  const isOver = ({ status }: PlanStep) => status === 'done' || status === 'skipped'
  const current = plan.find(({ status }) => status === 'in_progress') ?? plan.find(step => !isOver(step))
  return { steps: plan.length, done: plan.filter(isOver).length, current: current?.step ?? null }
}

const MARKS = { pending: '[ ]', in_progress: '[>]', done: '[x]', skipped: '[-]' } as const

/** Renders a plan, one line for each step. */
export function planLines(plan: readonly PlanStep[]): string[] {
  return plan.map(({ step, status }) => `${MARKS[status]} ${step.replace(/\s+/g, ' ')}`)
}

/**
 * Returns the message that repeats the plan for the agent; undefined while the plan is in view, or when there is none.
 */
export function planReminder(plan: readonly PlanStep[], messages: readonly Message[]): string | undefined {
  if (plan.length === 0) return undefined
  const summaryIndex = messages.findLastIndex(message => message.summary !== undefined)
  // A summary replaces the messages before those that it keeps.
  const from = summaryIndex < 0 ? 0 : summaryIndex - (messages[summaryIndex]?.summary?.keeps ?? 0)
  const inView = messages.slice(Math.max(from, messages.length - REMINDER_INTERVAL, 0))
  const isShown = ({ role, content, tool_calls = [] }: Message) =>
    tool_calls.some(({ name }) => name === UPDATE_PLAN) || (role === 'user' && content.startsWith(HEADING))
  return inView.some(isShown) ? undefined : [HEADING, ...planLines(plan)].join('\n')
}
