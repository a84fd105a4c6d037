import { Agents } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import { ActiveAgent, ActiveGoal, ActiveProfile, type PursuedGoal } from '../contract.ts'
import { activeGoal } from '../repository.ts'

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
  if (goal.blocked) {
    const waiting_for = describeWait(goal)
    if (agent.waiting_for !== waiting_for)
      cycle.effects.push(agents.recordOutcome({ agent_id: agent.agent_id, error: null, waiting_for }))
    cycle.done = true
    return
  }
  cycle.set(ActiveGoal, goal)
  cycle.pursuing = true
}

/** Describes what a goal waits for, in one sentence. */
export function describeWait({ goal_id, question_id }: PursuedGoal): string {
  if (question_id !== null) return `Its goal ${goal_id} waits for your answer to ${question_id}; see: svc questions`
  return `Its goal ${goal_id} waits for other goals; see: svc goals show ${goal_id}`
}

/** Returns what `assemble` found; later phases run only when it succeeded. */
export function assemblyOf(cycle: Cycle) {
  const agent = cycle.get(ActiveAgent)
  const profile = cycle.get(ActiveProfile)
  if (!agent || !profile)
    throw new Error('the phase context_assembly was skipped, so the agent and its profile are not loaded')
  return { agent, profile }
}
