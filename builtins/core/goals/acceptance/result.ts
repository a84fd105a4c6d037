import { agentReach } from '#core/agents/contract'
import type { Claim } from '#core/runtime/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import type { Cycle } from '#platform/heartbeat/contract'
import { assemblyOf } from '../context/assembly.ts'
import { type GoalClaim, type PursuedGoal, type ResultNote, ResultNotes } from '../contract.ts'

/** Returns the result of a goal that completes: what its agent says, its evidence, and what modules add. */
export async function resultOf(svc: PluginHandle, cycle: Cycle, goal: PursuedGoal, claim: Claim): Promise<string> {
  const { agent_id, goal_id, objective } = goal
  const reach = agentReach(svc.project, assemblyOf(cycle).agent)
  const claimed = { ...claim, ...reach, agent_id, goal_id, objective, signal: cycle.signal }
  const notes: string[] = []
  for (const each of svc.list(ResultNotes)) {
    const note = await recordInput(`result note ${each.name}`, () => noteOf(svc, each, claimed, goal))
    if (note !== null) notes.push(note)
  }
  return [claim.summary, ...claim.evidence.map(each => `- ${each}`), ...notes].join('\n')
}

async function noteOf(svc: PluginHandle, { name, note }: ResultNote, claim: GoalClaim, goal: PursuedGoal) {
  try {
    return (await note(claim, goal)) ?? null
  } catch (error) {
    const { agent_id, goal_id } = claim
    svc.log.error({ agent_id, goal_id }, `the result note "${name}" failed and is left out: ${errorMessage(error)}`)
    return null
  }
}
