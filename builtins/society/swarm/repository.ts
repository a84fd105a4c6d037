import { z } from '#kernel'
import { AMONG, countRows, getValue, isoTime, jsonList, type Store, type Stored } from '#platform/store/contract'
import { type SwarmEffect, SwarmLearning, type SwarmReport, type TaskTypeRecord } from './contract.ts'
import type { AgentOutcomes } from './report.ts'
import { round } from './specialization.ts'

/** Last event up to which ended goals were recorded. */
export const CURSOR = { namespace: 'swarm', key: 'goals_seq' } as const
/** Statuses of effects that are planned, in force or being reverted. */
export const OPEN = "('planned', 'in_force', 'reverting')"

export async function cursor(store: Store): Promise<number> {
  return z.coerce
    .number()
    .int()
    .catch(0)
    .parse(await getValue(store, CURSOR))
}

/** An ended goal, with its event. */
export interface EndedGoal {
  seq: number
  goal_id: string
  agent_id: string
  objective: string
  status: string
  steps: number
  duration_ms: number
  at: number
  /** Names of the tools called for the goal. */
  tools: string[]
}

/** Returns the goals that ended after an event, in order. `last` is the last event that was checked. */
export async function listEndedGoals(
  store: Store,
  after: number,
  limit: number,
): Promise<{ goals: EndedGoal[]; last: number }> {
  const events = await store.all<{ seq: number; data: string }>(
    `SELECT seq, data FROM events_view WHERE type IN ('goal_completed', 'goal_abandoned') AND seq > ? ORDER BY seq LIMIT ?`,
    [after, limit],
  )
  const goals: EndedGoal[] = []
  for (const { seq, data } of events) {
    const { goal_id } = JSON.parse(data) as { goal_id: string }
    const goal = await store.get<Omit<EndedGoal, 'seq' | 'tools'>>(
      `SELECT goal_id, agent_id, objective, status, steps_completed AS steps,
         max(0, coalesce(completed_at, created_at) - created_at) AS duration_ms, coalesce(completed_at, created_at) AS at
       FROM goals_view WHERE goal_id = ? AND status <> 'active'`,
      [goal_id],
    )
    const tools = await store.all<{ tool: string }>(
      'SELECT DISTINCT tool FROM tool_calls_view WHERE goal_id = ? ORDER BY tool',
      [goal_id],
    )
    if (goal) goals.push({ seq, ...goal, tools: tools.map(({ tool }) => tool) })
  }
  return { goals, last: events.at(-1)?.seq ?? after }
}

/** Returns the results of live agents in each kind of work. */
export async function typesOf(store: Store, agent_id?: string): Promise<Map<string, TaskTypeRecord[]>> {
  const rows = await store.all<{ agent_id: string; task_type: string; goals: number; completed: number; mean: number }>(
    `SELECT agent_id, task_type, count(*) AS goals, sum(success) AS completed, avg(duration_ms) AS mean
     FROM specialization_records WHERE agent_id IN (SELECT agent_id FROM agents_view WHERE died_at IS NULL)
     ${agent_id === undefined ? '' : 'AND agent_id = ?'} GROUP BY agent_id, task_type ORDER BY agent_id, task_type`,
    agent_id === undefined ? [] : [agent_id],
  )
  const types = new Map<string, TaskTypeRecord[]>()
  for (const { agent_id: id, task_type, goals, completed, mean } of rows) {
    const record = { task_type, goals, completed, rate: round(completed / goals), mean_duration_ms: Math.round(mean) }
    types.set(id, [...(types.get(id) ?? []), record])
  }
  return types
}

/** Returns the outcomes of each live agent's latest ended goals. */
export function recentOutcomes(store: Store, goals: number): Promise<AgentOutcomes[]> {
  return store.all<AgentOutcomes>(
    `SELECT a.agent_id, (SELECT count(*) FROM goals_view g WHERE g.agent_id = a.agent_id AND g.status = 'active') AS active,
       coalesce(sum(r.success), 0) AS completed, coalesce(sum(1 - r.success), 0) AS abandoned
     FROM agents_view a LEFT JOIN specialization_records r ON r.agent_id = a.agent_id AND r.seq IN
       (SELECT seq FROM specialization_records n WHERE n.agent_id = a.agent_id ORDER BY seq DESC LIMIT ?)
     WHERE a.died_at IS NULL GROUP BY a.agent_id ORDER BY a.agent_id`,
    [goals],
  )
}

/** Returns the last goal of a kind that an agent completed, if it still exists. */
export function lastCompleted(store: Store, agent_id: string, task_type: string) {
  return store.get<{ goal_id: string; objective: string; result: string | null }>(
    `SELECT g.goal_id, g.objective, g.result FROM specialization_records r JOIN goals_view g ON g.goal_id = r.goal_id
     WHERE r.agent_id = ? AND r.task_type = ? AND r.success = 1 ORDER BY r.seq DESC LIMIT 1`,
    [agent_id, task_type],
  )
}

/** Returns agents that a task may be given to: alive, not paused, and no sub-agents. */
export function listAvailableAgents(
  store: Store,
): Promise<{ agent_id: string; name: string; role: string; active: number }[]> {
  return store.all(
    `SELECT agent_id, name, role, (SELECT count(*) FROM goals_view g WHERE g.agent_id = a.agent_id AND g.status = 'active') AS active
     FROM agents_view a WHERE died_at IS NULL AND paused_at IS NULL AND spawned_by IS NULL ORDER BY agent_id`,
  )
}

interface ReportRow {
  report_id: string
  beat: number
  policy: string
  report: string
  created_at: number
  reverted_at: number | null
}
interface EffectRow extends Stored<Omit<SwarmEffect, 'text'>, 'created_at' | 'ended_at'> {
  detail: string
}

const effectOf = ({ detail, created_at, ended_at, ...row }: EffectRow): SwarmEffect => ({
  ...row,
  text: (JSON.parse(detail) as { text: string }).text,
  created_at: isoTime(created_at),
  ended_at: isoTime(ended_at),
})
const reportOf = ({ report, created_at, reverted_at, ...row }: ReportRow, effects: SwarmEffect[]): SwarmReport => ({
  ...row,
  ...SwarmLearning.parse(JSON.parse(report)),
  effects,
  created_at: isoTime(created_at),
  reverted_at: isoTime(reverted_at),
})

/** Returns the reports, newest first. */
export async function listReports(store: Store, limit: number, offset: number): Promise<SwarmReport[]> {
  const rows = await store.all<ReportRow>('SELECT * FROM swarm_reports ORDER BY beat DESC LIMIT ? OFFSET ?', [
    limit,
    offset,
  ])
  const ids = rows.map(({ report_id }) => report_id)
  const all = await effects(store, `report_id ${AMONG}`, jsonList(ids))
  return rows.map(row =>
    reportOf(
      row,
      all.filter(({ report_id }) => report_id === row.report_id),
    ),
  )
}

export function countReports(store: Store): Promise<number> {
  return countRows(store, 'FROM swarm_reports')
}

export async function findReport(store: Store, report_id: string): Promise<SwarmReport | undefined> {
  const row = await store.get<ReportRow>('SELECT * FROM swarm_reports WHERE report_id = ?', [report_id])
  return row && reportOf(row, await effects(store, 'report_id = ?', report_id))
}

async function effects(store: Store, where: string, ...params: unknown[]): Promise<SwarmEffect[]> {
  const rows = await store.all<EffectRow>(
    `SELECT * FROM swarm_effects WHERE ${where} ORDER BY created_at, effect_id`,
    params,
  )
  return rows.map(effectOf)
}

/** Returns the open effects, of all agents or of one. */
export function openEffects(store: Store, agent_id?: string): Promise<SwarmEffect[]> {
  const open = `status IN ${OPEN}`
  return agent_id === undefined ? effects(store, open) : effects(store, `agent_id = ? AND ${open}`, agent_id)
}

/** Returns the effects that decisions must consider: open ones, and reverted ones whose reason lasts. */
export function standingEffects(store: Store): Promise<SwarmEffect[]> {
  return effects(store, "status NOT IN ('ended', 'lifted')")
}

/** Returns the effects on memory that are not completed or not reverted yet, since memory is outside this database. */
export function unfinishedEffects(store: Store): Promise<SwarmEffect[]> {
  return effects(store, "status IN ('planned', 'reverting') AND kind = 'memory'")
}
