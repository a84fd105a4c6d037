import type { Specialization, TaskTypeRecord } from './contract.ts'

/** Minimum success rate of a strength. */
const STRONG = 0.5
/** Score of an agent without experience in a kind of work, and of one with bad results. */
const UNKNOWN = 0.5
const WEAK = 0.3
/** Number of goals of one kind that make a rate reliable. */
const ENOUGH = 10

/** @param types of the agent's last goals, in any order */
export function specializationOf(agent_id: string, types: readonly TaskTypeRecord[]): Specialization {
  const sorted = [...types].sort((a, b) => b.goals - a.goals || (a.task_type < b.task_type ? -1 : 1))
  const goals = sorted.reduce((sum, type) => sum + type.goals, 0)
  const strengths = sorted.filter(({ rate }) => rate >= STRONG).map(({ task_type }) => task_type)
  return { agent_id, goals, score: scoreOf(sorted), strengths, types: sorted }
}

/**
 * Returns four times the variance of the success rates over kinds of work: 0 when all are equal, 1 when half are 1 and
 * half are 0.
 */
function scoreOf(types: readonly TaskTypeRecord[]): number {
  if (types.length < 2) return 0
  const mean = types.reduce((sum, { rate }) => sum + rate, 0) / types.length
  const variance = types.reduce((sum, { rate }) => sum + (rate - mean) ** 2, 0) / types.length
  return round(4 * variance)
}

/**
 * Returns an agent's score for a kind of task: 0.6 × rate + 0.2 × min(goals / 10, 1) + 0.2; 0.5 without experience, 0.3
 * with bad results.
 */
export function routeScore(specialization: Specialization | undefined, task_type: string): number {
  const record = specialization?.types.find(type => type.task_type === task_type)
  if (!record) return UNKNOWN
  if (record.rate < STRONG) return WEAK
  return round(0.6 * record.rate + 0.2 * Math.min(record.goals / ENOUGH, 1) + 0.2)
}

/** Rounds to four decimals, so that reports are readable and comparable. */
export function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
