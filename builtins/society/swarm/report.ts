import type { Specialization, SwarmLearning, SwarmRecommendation } from './contract.ts'
import { round } from './specialization.ts'

/** Results of a live agent, from its most recent goals. */
export interface AgentOutcomes {
  agent_id: string
  active: number
  completed: number
  abandoned: number
}

/** Minimum number of ended goals for recommending relief of an agent, or sharing its knowledge. */
const ROUTING_GOALS = 3
const KNOWLEDGE_GOALS = 5
const KNOWLEDGE_RATE = 0.3
/** Success rate below which a kind of work counts as going badly, over this number of goals. */
const BAD_RATE = 0.3
const BAD_GOALS = 3
/** Minimum score of a specialization. */
const EMERGING = 0.3

/**
 * Returns what the swarm learns from its agents' results; the same input gives the same output. @param before figures
 * of the previous report
 */
export function learn(
  outcomes: readonly AgentOutcomes[],
  specializations: readonly Specialization[],
  before: SwarmLearning['figures'] | undefined,
): SwarmLearning {
  const completed = sum(outcomes.map(agent => agent.completed))
  const abandoned = sum(outcomes.map(agent => agent.abandoned))
  const ended = completed + abandoned
  const success_rate = ended === 0 ? null : round(completed / ended)
  const patterns = patternsOf(specializations)
  const mean_specialization = round(
    sum(specializations.map(({ score }) => score)) / Math.max(1, specializations.length),
  )
  const figures = { success_rate, completed, abandoned, patterns: patterns.length, mean_specialization }
  return {
    agents: outcomes.length,
    active_goals: sum(outcomes.map(agent => agent.active)),
    figures,
    deltas: deltasOf(figures, before),
    patterns,
    recommendations: [...knowledge(success_rate, ended), ...routing(outcomes), ...specialization(specializations)],
  }
}

function deltasOf(
  now: SwarmLearning['figures'],
  before: SwarmLearning['figures'] | undefined,
): SwarmLearning['deltas'] {
  const rates = [now.success_rate, before?.success_rate ?? null]
  return {
    success_rate: rates[0] == null || rates[1] == null ? null : round(rates[0] - rates[1]),
    completed: now.completed - (before?.completed ?? 0),
    abandoned: now.abandoned - (before?.abandoned ?? 0),
    patterns: now.patterns - (before?.patterns ?? 0),
    mean_specialization: round(now.mean_specialization - (before?.mean_specialization ?? 0)),
  }
}

/** Returns kinds of work that two or more agents are good at, and agents that begin to specialize. */
function patternsOf(specializations: readonly Specialization[]): SwarmLearning['patterns'] {
  const byType = new Map<string, string[]>()
  for (const { agent_id, strengths } of specializations)
    for (const type of strengths) byType.set(type, [...(byType.get(type) ?? []), agent_id])
  const shared = [...byType]
    .filter(([, agents]) => agents.length >= 2)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([task_type, agents]) => ({ kind: 'shared_capability' as const, task_type, agents }))
  const emerging = specializations
    .filter(({ score }) => score > EMERGING)
    .map(({ agent_id, strengths }) => ({
      kind: 'specialization_emerging' as const,
      task_type: strengths[0] ?? null,
      agents: [agent_id],
    }))
  return [...shared, ...emerging]
}

function knowledge(rate: number | null, ended: number): SwarmRecommendation[] {
  if (rate === null || rate >= KNOWLEDGE_RATE || ended < KNOWLEDGE_GOALS) return []
  const text = `Only ${percent(rate)} of the last ${ended} goals were completed: share what worked, and choose smaller goals.`
  return [{ kind: 'knowledge', priority: 9, agent_id: null, task_type: null, text }]
}

function routing(outcomes: readonly AgentOutcomes[]): SwarmRecommendation[] {
  return outcomes
    .filter(({ completed, abandoned }) => completed + abandoned >= ROUTING_GOALS && abandoned > completed)
    .map(({ agent_id, completed, abandoned }) => ({
      kind: 'routing' as const,
      priority: 8,
      agent_id,
      task_type: null,
      text: `${agent_id} abandoned ${abandoned} of its last ${completed + abandoned} goals: give its work to others.`,
    }))
}

/** Returns a recommendation for the kind of work with the lowest success rate over all agents. */
function specialization(specializations: readonly Specialization[]): SwarmRecommendation[] {
  const types = new Map<string, { goals: number; completed: number }>()
  for (const { task_type, goals, completed } of specializations.flatMap(each => each.types)) {
    const known = types.get(task_type) ?? { goals: 0, completed: 0 }
    types.set(task_type, { goals: known.goals + goals, completed: known.completed + completed })
  }
  const [worst] = [...types]
    .map(([task_type, { goals, completed }]) => ({ task_type, goals, rate: completed / goals }))
    .filter(({ goals, rate }) => goals >= BAD_GOALS && rate < BAD_RATE)
    .sort((a, b) => a.rate - b.rate || b.goals - a.goals || (a.task_type < b.task_type ? -1 : 1))
  if (!worst) return []
  const { task_type, goals, rate } = worst
  const text = `Only ${percent(rate)} of ${goals} goals of the kind ${task_type} were completed: leave such work to the agent with the best results.`
  return [{ kind: 'specialization', priority: 6, agent_id: null, task_type, text }]
}

function percent(rate: number): string {
  return `${Math.round(rate * 100)} %`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
