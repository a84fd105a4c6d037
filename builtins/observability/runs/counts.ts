import { z } from '#kernel'

/** Names of the totals and of their columns. Costs are in integer micro-dollars. */
export const COUNTED = [
  ...(['cycles', 'goals_generated', 'goals_completed', 'goals_abandoned'] as const),
  ...(['model_calls', 'tool_calls', 'tool_failures', 'input_tokens', 'output_tokens', 'cost_micros'] as const),
] as const

/** Schema of the totals. An object schema is checked much faster than a record of the names. */
export const Counts = z.object(
  Object.fromEntries(COUNTED.map(name => [name, z.int()])) as Record<(typeof COUNTED)[number], z.ZodInt>,
)
export type Counts = z.infer<typeof Counts>

export interface AgentCounts {
  agent_id: string
  first_at: number
  last_at: number
  counts: Counts
}

const GOALS: Readonly<Record<string, (typeof COUNTED)[number]>> = {
  goal_generated: 'goals_generated',
  goal_completed: 'goals_completed',
  goal_abandoned: 'goals_abandoned',
}
/** Events that make an agent part of a run: its creation and its actions. */
export const ACTION_EVENTS: ReadonlySet<string> = new Set([
  'agent_spawned',
  'cycle_done',
  'model_called',
  'tool_result',
  'goal_max_steps',
  ...Object.keys(GOALS),
])

/** Fields of an event that are needed for counting. */
interface CountedEvent {
  type: string
  at: number
  agent_id: string | null
  /** Data of the event, as JSON. */
  data: string
}

/** Adds up a batch of events, in total and by agent. */
export function countsOf(rows: readonly CountedEvent[]): { totals: Counts; agents: AgentCounts[] } {
  const totals = emptyCounts()
  const agents = new Map<string, AgentCounts>()
  for (const row of rows) {
    if (!ACTION_EVENTS.has(row.type)) continue
    const agent = row.agent_id === null ? undefined : agentOf(agents, row.agent_id, row.at)
    for (const counts of agent ? [totals, agent.counts] : [totals]) add(counts, row)
  }
  return { totals, agents: [...agents.values()] }
}

function agentOf(agents: Map<string, AgentCounts>, agent_id: string, at: number): AgentCounts {
  const known = agents.get(agent_id) ?? { agent_id, first_at: at, last_at: at, counts: emptyCounts() }
  known.last_at = at
  agents.set(agent_id, known)
  return known
}

function add(counts: Counts, { type, data }: CountedEvent): void {
  const goals = GOALS[type]
  if (goals) counts[goals]++
  else if (type === 'cycle_done') counts.cycles++
  else if (type === 'tool_result') {
    counts.tool_calls++
    if ((JSON.parse(data) as { ok?: boolean }).ok === false) counts.tool_failures++
  } else if (type === 'model_called') {
    const { input_tokens, output_tokens, cost_usd } = JSON.parse(data) as Record<string, number | undefined>
    counts.model_calls++
    counts.input_tokens += input_tokens ?? 0
    counts.output_tokens += output_tokens ?? 0
    counts.cost_micros += Math.round((cost_usd ?? 0) * 1e6)
  }
}

function emptyCounts(): Counts {
  return Object.fromEntries(COUNTED.map(name => [name, 0])) as Counts
}
