import { Agents } from '#core/agents/contract'
import { unansweredCalls } from '#core/runtime/statements'
import type { PluginHandle } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import type { WaitsFor } from '../acceptance/terms-repository.ts'
import { ActiveAgent, ActiveGoal, ActiveProfile, type PursuedGoal } from '../contract.ts'
import { type AwaitedGoal, activeGoal, awaitedGoals } from '../repository.ts'
import { pendingMessagesFor } from './guarded.ts'
import { describeParked } from './open-work.ts'

/** `context_assembly`: loads the agent, its profile and its goal, if any. */
export async function assemble(svc: PluginHandle, cycle: Cycle): Promise<void> {
  const agents = svc.use(Agents)
  const agent = cycle.get(ActiveAgent) ?? (await agents.find(cycle.agent_id))
  cycle.set(ActiveAgent, agent)
  cycle.set(ActiveProfile, await agents.profileOf(agent, 'beat'))
  if (agent.goal_id === null) return
  const goal = await activeGoal(svc.use(Store), agent.agent_id)
  if (!goal) return
  // A blocked goal is chosen only when the agent has no other.
  if (goal.blocked && !(await canReadMessages(svc, goal)) && !(await hasCallsToResume(svc, goal))) {
    const waiting_for = await describeWait(svc, goal, await awaitedGoals(svc.use(Store), goal.goal_id))
    if (agent.waiting_for !== waiting_for)
      cycle.effects.push(agents.recordOutcome({ agent_id: agent.agent_id, error: null, waiting_for }))
    cycle.done = true
    return
  }
  cycle.set(ActiveGoal, goal)
  cycle.pursuing = true
}

/**
 * Returns whether the agent of a blocked goal has messages to read. While a question to the operator is open, its call
 * has no result, and providers accept no other message before that.
 */
export async function canReadMessages(
  svc: PluginHandle,
  {
    agent_id,
    goal_id,
    question_id,
    nudged,
    wakes,
  }: Pick<PursuedGoal, 'agent_id' | 'goal_id' | 'question_id' | 'nudged' | 'wakes'>,
): Promise<boolean> {
  if (question_id !== null) return false
  return nudged !== 0 || (await pendingMessagesFor(svc, agent_id, goal_id, wakes)).texts.length > 0
}

/** Returns whether a blocked goal has calls without a result besides a question, such as one that was approved meanwhile. */
async function hasCallsToResume(svc: PluginHandle, { goal_id, question_id }: PursuedGoal): Promise<boolean> {
  if (question_id !== null) return false
  return (await unansweredCalls(svc.use(Store), 'goal_id', goal_id)).unanswered.size > 0
}

/** Describes what a goal waits for, in one sentence. */
export async function describeWait(
  svc: PluginHandle,
  { agent_id, goal_id, question_id }: PursuedGoal,
  awaited: readonly AwaitedGoal[],
): Promise<string> {
  if (question_id !== null) return `Its goal ${goal_id} waits for your answer to ${question_id}; see: svc questions`
  const what = listAwaited(agent_id, awaited) || (await describeParked(svc, goal_id))
  return `Its goal ${goal_id} waits for ${what}`
}

/** Describes what an active goal waits for; null for nothing. @param yours who decides and answers: `your`, or a name */
export function waitOf(
  agent_id: string,
  { approval_ids, question_id, awaited, parked_for }: WaitsFor,
  yours = 'your',
): string | null {
  const parts = [
    approval_ids.length > 0 && `${yours} decision on ${approval_ids.join(', ')}, see: svc approvals`,
    question_id !== null && `${yours} answer to ${question_id}, see: svc questions`,
    awaited.length > 0 && listAwaited(agent_id, awaited),
    parked_for,
  ]
  return parts.filter(Boolean).join('; ') || null
}

/** Number of goals that are named as awaited. */
const NAMED = 3

/** Names goals that another waits for, with their agents where these are others. */
export function listAwaited(agent_id: string, awaited: readonly Pick<AwaitedGoal, 'goal_id' | 'agent_id'>[]): string {
  const named = awaited
    .slice(0, NAMED)
    .map(goal => (goal.agent_id === agent_id ? goal.goal_id : `${goal.goal_id} of ${goal.agent_id}`))
  const more = awaited.length - named.length
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

/** Returns what `assemble` found; later phases run only when it succeeded. */
export function assemblyOf(cycle: Cycle) {
  const agent = cycle.get(ActiveAgent)
  const profile = cycle.get(ActiveProfile)
  if (!agent || !profile)
    throw new Error('the phase context_assembly was skipped, so the agent and its profile are not loaded')
  return { agent, profile }
}
