import {
  AMONG,
  EVENT_COLUMNS,
  type EventEnvelope,
  type EventRow,
  jsonList,
  type Store,
  type Stored,
  shownEvent,
} from '#platform/store/contract'
import type { Summary } from './schema.ts'

/** SQL: whether goal `g` is no part of another goal of its agent, and not the task of a sub-agent. Others may have delegated it. */
const OWN = `NOT EXISTS (SELECT 1 FROM goals_view p WHERE p.goal_id = g.parent_goal_id AND p.agent_id = g.agent_id)
  AND g.agent_id IN (SELECT agent_id FROM agents_view WHERE coalesce(root_agent_id, agent_id) = agent_id)`
const ENDED = `FROM goals_view g WHERE completed_at >= ? AND ${OWN}`

export type EndedGoalRow = Stored<Summary['goals'][number], 'unconfirmed' | 'completed_at'>

export interface GoalCount extends Pick<EndedGoalRow, 'agent_id' | 'status' | 'unconfirmed'> {
  n: number
}

export interface SpentRow {
  agent_id: string | null
  micros: number
  calls: number
}

export interface WaitingRow extends Stored<Summary['waiting'][number], 'at'> {
  /** For an approval, the arguments of the call as JSON. */
  arguments: string
}

/** Counts the goals that ended since a time, by agent and outcome. */
export function countEndedGoals(store: Store, since: number): Promise<GoalCount[]> {
  return store.all(
    `SELECT agent_id, status, unconfirmed, count(*) AS n ${ENDED} GROUP BY agent_id, status, unconfirmed ORDER BY agent_id`,
    [since],
  )
}

/** Returns the goals that ended since a time, newest first, at most `limit` of each agent. */
export function endedGoals(store: Store, since: number, limit: number): Promise<EndedGoalRow[]> {
  return store.all(
    // Only the keys are sorted: results are long, and `blocked` of the view takes subqueries.
    `SELECT goal_id, agent_id, objective, status, unconfirmed, result, completed_at FROM goals_view WHERE goal_id IN (
       SELECT goal_id FROM (
         SELECT g.goal_id, row_number() OVER (PARTITION BY g.agent_id ORDER BY completed_at DESC, g.goal_id) AS place
         ${ENDED}) AS ended WHERE place <= ?)
     ORDER BY completed_at DESC, goal_id`,
    [since, limit],
  )
}

/** Returns the goals that ended since a time, of all agents: abandoned, then not confirmed, then completed ones. */
export function worstEndedGoals(store: Store, since: number, limit: number): Promise<EndedGoalRow[]> {
  return store.all(
    `SELECT goal_id, agent_id, objective, status, unconfirmed, result, completed_at ${ENDED}
     ORDER BY status = 'completed', unconfirmed DESC, completed_at DESC, goal_id LIMIT ?`,
    [since, limit],
  )
}

/** Sums the spending since a time by agent; that of sub-agents belongs to the agent that they work for. */
export function spentSince(store: Store, since: number): Promise<SpentRow[]> {
  return store.all(
    `SELECT coalesce(root_agent_id, agent_id) AS agent_id, sum(cost_micros) AS micros, sum(calls) AS calls
     FROM spend_view WHERE at >= ? GROUP BY coalesce(root_agent_id, agent_id)`,
    [since],
  )
}

/** Returns the current names of agents by id, without deleted agents. */
export async function namesOf(store: Store, agent_ids: readonly string[]): Promise<Record<string, string>> {
  const rows = await store.all<{ agent_id: string; name: string }>(
    `SELECT agent_id, name FROM agents_view WHERE agent_id ${AMONG}`,
    [jsonList(agent_ids)],
  )
  return Object.fromEntries(rows.map(({ agent_id, name }) => [agent_id, name]))
}

export type OpenTaskRow = Stored<Summary['tasks']['open'][number], 'at'>

/** Counts the tasks that ended since a time, and sums the cost of all tasks since then. */
export async function countTasks(store: Store, since: number) {
  const ended = await store.get<{ n: number; completed: number; cancelled: number }>(
    `SELECT count(*) AS n, count(CASE WHEN status = 'completed' THEN 1 END) AS completed, coalesce(sum(cancelled), 0) AS cancelled
     FROM task_runs_view WHERE ended_at >= ?`,
    [since],
  )
  const spent = await store.get<{ micros: number }>(
    "SELECT coalesce(sum(cost_micros), 0) AS micros FROM spend_view WHERE at >= ? AND kind = 'task'",
    [since],
  )
  return { n: 0, completed: 0, cancelled: 0, ...ended, micros: spent?.micros ?? 0 }
}

/** Returns the tasks that ended since a time without an answer, and those that wait, newest first. */
export function openTasks(store: Store, since: number, limit: number): Promise<OpenTaskRow[]> {
  return store.all(
    `SELECT task_id, agent_id, substr(instruction, 1, 500) AS instruction,
       CASE WHEN cancelled = 1 THEN 'cancelled' ELSE status END AS status, coalesce(ended_at, created_at) AS at
     FROM task_runs_view WHERE (ended_at >= ? AND status <> 'completed') OR status IN ('waiting_approval', 'waiting_answer')
     ORDER BY at DESC, task_id LIMIT ?`,
    [since, limit],
  )
}

/** Returns the pending approvals and open questions, oldest first. */
export async function waitingNow(store: Store, limit: number): Promise<WaitingRow[]> {
  return store.all(
    `SELECT 'approval' AS kind, approval_id AS id, agent_id, tool_name AS text, arguments, created_at AS at
       FROM approvals_view WHERE status = 'pending'
     UNION ALL SELECT 'question', question_id, agent_id, question, '', asked_at FROM questions_view WHERE answered_at IS NULL
     ORDER BY at, id LIMIT ?`,
    [limit],
  )
}

/** Returns the newest seq, and the last one before a time. Seqs grow with time, so that bisection finds it. */
export async function seqsSince(store: Store, since: number): Promise<{ before: number; newest: number }> {
  const ends = await store.get<{ first: number | null; last: number | null }>(
    'SELECT min(seq) AS first, max(seq) AS last FROM events_view',
  )
  const newest = ends?.last ?? 0
  let [before, upTo] = [(ends?.first ?? 1) - 1, newest]
  while (before < upTo) {
    const middle = Math.ceil((before + upTo) / 2)
    const event = await store.get<{ at: number }>(
      'SELECT at FROM events_view WHERE seq <= ? ORDER BY seq DESC LIMIT 1',
      [middle],
    )
    if ((event?.at ?? 0) < since) before = middle
    else upTo = middle - 1
  }
  return { before, newest }
}

/**
 * Returns the events of failures after one seq and up to another, oldest first. A sub-agent dies at the end of its task,
 * which is no failure.
 */
export async function failuresBetween(
  store: Store,
  after: number,
  upTo: number,
  types: readonly string[],
): Promise<EventEnvelope[]> {
  const rows = await store.all<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM events_view WHERE seq > ? AND seq <= ? AND (type IN (${types.map(() => '?').join(', ')})
       OR (type = 'cycle_done' AND data LIKE '%"error":%'))
       AND NOT (type = 'agent_died' AND agent_id IN (SELECT agent_id FROM agents_view WHERE spawned_by IS NOT NULL))
     ORDER BY seq`,
    [after, upTo, ...types],
  )
  return rows.map(shownEvent)
}
