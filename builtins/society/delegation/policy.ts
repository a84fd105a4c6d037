import { type AgentRow, Agents } from '#core/agents/contract'
import { Goals } from '#core/goals/contract'
import type { Effect, PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { oneLine } from '#lib/sanitize'
import { Store, wakeAgents } from '#platform/store/contract'
import { type A2AMessage, type AutoReply, OPERATOR } from '#society/a2a/contract'
import type { DelegationConfig } from './config.ts'
import { DelegateMetadata, LONGEST_OBJECTIVE } from './contract.ts'
import { goalsAbove, insertDelegation, loadOf, sameOpen } from './repository.ts'

/** Priority of a delegated goal, above the default. */
const PRIORITY = 8

/** Maximum number of times that a task may be delegated unchanged. */
const MAX_UNCHANGED = 1

type Answer = Awaited<ReturnType<AutoReply['answer']>>

/** Answers DELEGATE with ACK, which makes a goal, or REJECT with the reason. No model is asked. */
export function delegationPolicy(svc: PluginHandle, config: DelegationConfig): AutoReply {
  return {
    name: 'delegation',
    stage: 1000,
    types: ['delegate'],
    async answer(message, recipient): Promise<Answer> {
      const { from_goal_id, waits } = await findParentGoal(svc, message)
      const reason = await reasonAgainst(svc, config, message, recipient, from_goal_id)
      if (reason) return { type: 'reject', body: reason }
      const { objective } = taskOf(message.body)
      const { goal_id, effects } = svc.use(Goals).add({
        agent_id: recipient.agent_id,
        objective,
        priority: PRIORITY,
        origin: 'delegated',
        parent_goal_id: waits ? from_goal_id : null,
      })
      const from_agent = await agentOr(svc, message.from_agent)
      const { message_id, to_agent } = message
      const delegation_id = delegationIdOf(message_id)
      const row = { delegation_id, message_id, from_agent, to_agent, from_goal_id, goal_id, objective, waits }
      const given: Effect[] = [insertDelegation(row), wakeAgents({ agents: [to_agent], reason: 'delegation' })]
      return { type: 'ack', body: `Accepted as ${delegation_id}.`, effects: [...effects, ...given] }
    },
  }
}

/** Returns the delegation id, derived from its message id. */
export function delegationIdOf(message_id: string): string {
  return message_id.replace(/^(msg-)?/, 'dlg-')
}

async function agentOr(svc: PluginHandle, agent_id: string): Promise<string | null> {
  if (agent_id === OPERATOR) return null
  const agent = await svc
    .use(Agents)
    .find(agent_id)
    .catch(() => undefined)
  return agent?.agent_id === agent_id ? agent_id : null
}

/** Returns the goal named in the metadata if it is an active goal of the sender; otherwise none. */
async function findParentGoal(svc: PluginHandle, { metadata, from_agent }: A2AMessage) {
  const parsed = DelegateMetadata.safeParse(metadata)
  const from_goal_id = parsed.data?.from_goal_id ?? null
  if (from_goal_id === null) return { from_goal_id: null, waits: false }
  const [goal] = await goalsAbove(svc.use(Store), from_goal_id)
  if (goal?.agent_id !== from_agent || goal.status !== 'active') return { from_goal_id: null, waits: false }
  return { from_goal_id, waits: parsed.data?.waits === true }
}

async function reasonAgainst(
  svc: PluginHandle,
  config: DelegationConfig,
  { from_agent, body, metadata }: A2AMessage,
  recipient: AgentRow,
  from_goal_id: string | null,
): Promise<string | undefined> {
  const { agent_id, paused_at } = recipient
  if (!config.accept) return 'Delegations are not accepted here (delegation.accept is off).'
  if (paused_at !== null) return `${agent_id} is paused.`
  const { goals, pending } = await loadOf(svc.use(Store), from_agent, agent_id)
  if (goals >= config.max_active_goals) return `${agent_id} has ${pluralize(goals, 'active goal')} already.`
  if (pending >= config.max_pending) return `${from_agent} has ${pluralize(pending, 'open delegation')} already.`
  const { objective } = taskOf(body)
  // Chain patterns limit their own delegations.
  const again = metadata.pattern_id === undefined && (await sameOpen(svc.use(Store), from_agent, objective))
  if (again) return `The same task is already delegated to ${again.to_agent}, as ${again.delegation_id}.`
  const above = from_goal_id === null ? [] : await goalsAbove(svc.use(Store), from_goal_id)
  if (above.some(goal => goal.agent_id === agent_id))
    return `The task came from ${agent_id}; delegating it back would be circular.`
  if (above.filter(goal => goal.delegated).length >= config.max_depth)
    return `The task was already delegated ${pluralize(config.max_depth, 'time')} (delegation.max_depth).`
  const unchanged = above.filter(goal => goal.delegated && sameWords(goal.objective, objective))
  // The list includes the sender's own goal.
  if (unchanged.length > MAX_UNCHANGED) return 'The task was already delegated unchanged: do it yourself, or divide it.'
  return undefined
}

/**
 * Returns the parts of a DELEGATE message: its first paragraph is the objective, and the rest are details. The details
 * repeat an objective that is cut.
 */
export function taskOf(body: string): { objective: string; details: string } {
  const [first = '', ...rest] = body.trim().split(/\n\s*\n/)
  const objective = oneLine(first)
  return objective.length <= LONGEST_OBJECTIVE
    ? { objective, details: rest.join('\n\n') }
    : { objective: `${objective.slice(0, LONGEST_OBJECTIVE - 1)}…`, details: body.trim() }
}

function sameWords(one: string, other: string): boolean {
  const words = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()
  return words(one) === words(other)
}
