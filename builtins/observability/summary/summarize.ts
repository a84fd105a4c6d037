import type { Clock } from '#kernel'
import { shortestFirst } from '#lib/brief'
import { describeEvent } from '#lib/event-text'
import { oneLine } from '#lib/sanitize'
import { isoTime, type Store, usdOf } from '#platform/store/contract'
import {
  countEndedGoals,
  countTasks,
  endedGoals,
  failuresBetween,
  type GoalCount,
  namesOf,
  openTasks,
  type SpentRow,
  seqsSince,
  spentSince,
  waitingNow,
  worstEndedGoals,
} from './repository.ts'
import type { Summary } from './schema.ts'

/** Events that need attention. Cycles that ended with an error are found by their data. */
const FAILURES = [
  'agent_budget_exhausted',
  'agent_died',
  'budget_exceeded',
  'context_refused',
  'mcp_tool_changed',
  'model_failover',
  'schedule_skipped',
  'swarm_reverted',
]
/** Number of seqs read at a time, so that a long period does not block other work. */
const SPAN = 1_000
/** Maximum number of approvals and questions. */
const MOST_WAITING = 50
/** Maximum number of tasks. */
const MOST_TASKS = 20
/** Maximum number of different problems. */
const MOST_PROBLEMS = 50

type Problem = Summary['problems'][number]
type AgentSummary = Summary['agents'][number]

/** Maximum number of goals: of each agent, or of all together. */
interface Most {
  limit: number
  top?: number | undefined
}

/** Gathers what happened since a time, in milliseconds. */
export async function summarize(store: Store, clock: Clock, since: number, { limit, top }: Most): Promise<Summary> {
  const goals = top === undefined ? await endedGoals(store, since, limit) : await worstEndedGoals(store, since, top)
  const counts = await countEndedGoals(store, since)
  const spent = await spentSince(store, since)
  const agents = agentsOf(counts, spent)
  const total = (field: 'completed' | 'unconfirmed' | 'abandoned') =>
    agents.reduce((sum, agent) => sum + agent[field], 0)
  const waiting = await waitingNow(store, MOST_WAITING)
  const tasks = await tasksSince(store, since)
  const problems = await problemsSince(store, clock, since)
  const shown = [agents, goals, waiting, tasks.open, problems].flat().flatMap(({ agent_id }) => agent_id ?? [])
  return {
    since: isoTime(since),
    until: isoTime(clock.ms()),
    completed: total('completed'),
    unconfirmed: total('unconfirmed'),
    abandoned: total('abandoned'),
    cost_usd: usdOf(spent.reduce((sum, { micros }) => sum + micros, 0)),
    model_calls: spent.reduce((sum, { calls }) => sum + calls, 0),
    waiting: waiting.map(({ arguments: args, text, at, ...waiting }) => ({
      ...waiting,
      text: oneLine(args && args !== '{}' ? `${text} ${JSON.stringify(shortestFirst(JSON.parse(args)))}` : text),
      at: isoTime(at),
    })),
    agents,
    goals: goals.map(goal => ({
      ...goal,
      unconfirmed: goal.unconfirmed === 1,
      completed_at: isoTime(goal.completed_at),
    })),
    tasks,
    problems,
    names: await namesOf(store, [...new Set(shown)]),
  }
}

function agentsOf(counts: readonly GoalCount[], spent: readonly SpentRow[]): AgentSummary[] {
  const agents = new Map<string, AgentSummary>()
  const entryOf = (agent_id: string) => {
    const entry = agents.get(agent_id) ?? { agent_id, completed: 0, unconfirmed: 0, abandoned: 0, cost_usd: 0 }
    agents.set(agent_id, entry)
    return entry
  }
  for (const { agent_id, status, unconfirmed, n } of counts) {
    const entry = entryOf(agent_id)
    entry[status] += n
    if (unconfirmed) entry.unconfirmed += n
  }
  for (const { agent_id, micros } of spent) {
    if (agent_id !== null && micros > 0) entryOf(agent_id).cost_usd = usdOf(micros)
  }
  return [...agents.values()].sort((a, b) => a.agent_id.localeCompare(b.agent_id))
}

async function tasksSince(store: Store, since: number): Promise<Summary['tasks']> {
  const { n, completed, cancelled, micros } = await countTasks(store, since)
  const open = await openTasks(store, since, MOST_TASKS)
  return {
    ended: n,
    completed,
    cancelled,
    cost_usd: usdOf(micros),
    open: open.map(task => ({ ...task, at: isoTime(task.at) })),
  }
}

async function problemsSince(store: Store, clock: Clock, since: number): Promise<Problem[]> {
  const problems = new Map<string, Problem>()
  const { before, newest } = await seqsSince(store, since)
  for (let after = before; after < newest; after += SPAN, await clock.yield()) {
    for (const { type, agent_id, data, at } of await failuresBetween(store, after, after + SPAN, FAILURES)) {
      const text = describeEvent(type, data).replace(/^cycle \d+: /, '')
      // Repeated failures of one kind differ in counts and times.
      const key = `${agent_id} ${text.replaceAll(/\d+/g, '0')}`
      const times = (problems.get(key)?.times ?? 0) + 1
      problems.delete(key)
      problems.set(key, { agent_id, text, times, last_at: at })
    }
  }
  return [...problems.values()].reverse().slice(0, MOST_PROBLEMS)
}
