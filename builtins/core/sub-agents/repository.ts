import { adoptGoal, passTranscripts } from '#core/goals/statements'
import { z } from '#kernel'
import {
  AMONG,
  countRows,
  defineEffect,
  insertInto,
  jsonList,
  listColumn,
  type Store,
  type Stored,
} from '#platform/store/contract'
import { MAX_CHILDREN, MAX_DEPTH, SUB_AGENT_STATUSES, type SubAgent } from './contract.ts'

export interface SubAgentRow extends Stored<Omit<SubAgent, 'cost_usd' | 'result'>, 'created_at' | 'completed_at'> {
  result: string
  cost_micros: number
}

const ROW = `SELECT s.sub_agent_id, s.parent_agent_id, coalesce(a.name, s.name) AS name, coalesce(a.role, s.role) AS role, s.task, s.status,
  s.result, s.ending, s.depth, s.cycles, s.max_cycles, s.goal_id, s.profile, s.created_at, s.completed_at,
  (SELECT coalesce(sum(cost_micros), 0) FROM spend_view spend WHERE spend.agent_id = s.sub_agent_id) AS cost_micros
  FROM sub_agents s LEFT JOIN agents_view a ON a.agent_id = s.sub_agent_id`

/** An agent's sub-agents, newest first. */
export function subAgentsOf(store: Store, parent_agent_id: string): Promise<SubAgentRow[]> {
  return store.all<SubAgentRow>(`${ROW} WHERE s.parent_agent_id = ? ORDER BY s.created_at DESC, s.sub_agent_id`, [
    parent_agent_id,
  ])
}

/** Returns the sub-agent created by this call. */
export function findByCall(store: Store, call_id: string): Promise<{ sub_agent_id: string } | undefined> {
  return store.get('SELECT sub_agent_id FROM sub_agents WHERE call_id = ?', [call_id])
}

/** Returns the values that the limits apply to: the agent's depth and its number of running sub-agents. */
export async function readLimitedValues(store: Store, agent_id: string): Promise<{ depth: number; running: number }> {
  const row = await store.get<{ depth: number | null; running: number }>(
    `SELECT (SELECT depth FROM sub_agents WHERE sub_agent_id = ?) AS depth,
       (SELECT count(*) FROM sub_agents WHERE parent_agent_id = ? AND status = 'running') AS running`,
    [agent_id, agent_id],
  )
  return { depth: row?.depth ?? 0, running: row?.running ?? 0 }
}

/** Returns what decides whether an agent may work; `status` is null for an agent without a parent. */
export function readWorkState(
  store: Store,
  agent_id: string,
): Promise<
  | {
      spawned_by: string | null
      error: string | null
      status: string | null
      profile: string | null
      cycles: number
      max_cycles: number
    }
  | undefined
> {
  return store.get(
    `SELECT a.spawned_by, a.error, s.status, s.profile, s.cycles, s.max_cycles FROM agents_view a
     LEFT JOIN sub_agents s ON s.sub_agent_id = a.agent_id WHERE a.agent_id = ?`,
    [agent_id],
  )
}

/** Returns those of the agents that have a parent. */
export function spawnedAmong(store: Store, agents: readonly string[]): Promise<string[]> {
  return listColumn(store, `SELECT agent_id FROM agents_view WHERE spawned_by IS NOT NULL AND agent_id ${AMONG}`, [
    jsonList(agents),
  ])
}

export interface EndingRow {
  sub_agent_id: string
  parent_agent_id: string
  max_cycles: number
  cycles: number
  /** Whether its agent was deleted. */
  gone: number
  working: number
  /** Whether the goal in which its parent created it was abandoned. */
  is_dropped: number
  goal_status: string | null
  goal_result: string | null
  /** Why its last cycle failed, if it did. */
  error: string | null
}

/** SQL: whether the goal was abandoned in which sub-agent `s` was created. */
const IS_DROPPED = `EXISTS (SELECT 1 FROM tool_calls_view c JOIN goals_view p ON p.goal_id = c.goal_id
  WHERE c.call_id = s.call_id AND p.status = 'abandoned')`

/**
 * Returns running sub-agents that should end: their task or agent is gone or has ended, their parent's goal was
 * abandoned, or their cycles are used up.
 */
export function listExpired(store: Store, now: number): Promise<EndingRow[]> {
  return store.all<EndingRow>(
    `SELECT s.sub_agent_id, s.parent_agent_id, s.max_cycles, s.cycles, a.agent_id IS NULL AS gone,
       l.owner IS NOT NULL AND l.run_at > ? AS working, g.status AS goal_status, g.result AS goal_result,
       a.error, ${IS_DROPPED} AS is_dropped
     FROM sub_agents s LEFT JOIN agents_view a ON a.agent_id = s.sub_agent_id LEFT JOIN goals_view g ON g.goal_id = s.goal_id
     LEFT JOIN leases_view l ON l.id = s.sub_agent_id
     WHERE s.status = 'running' AND (a.agent_id IS NULL OR a.died_at IS NOT NULL OR g.goal_id IS NULL OR g.status <> 'active'
       OR s.cycles >= s.max_cycles OR ${IS_DROPPED})`,
    [now],
  )
}

const IS_RUNNING_FOR = "s.parent_agent_id = g.agent_id AND s.status = 'running' AND s.created_at >= g.created_at"
/** SQL condition on a goal `g`: a sub-agent that its agent created during it still works. */
export const HAS_RUNNING = `EXISTS (SELECT 1 FROM sub_agents s WHERE ${IS_RUNNING_FOR})`
/** Returns the running sub-agents that the agent of a goal created during it. */
export function runningFor(
  store: Store,
  goal_id: string,
): Promise<{ sub_agent_id: string; parent_agent_id: string }[]> {
  return store.all(
    `SELECT s.sub_agent_id, s.parent_agent_id FROM sub_agents s JOIN goals_view g ON ${IS_RUNNING_FOR}
     WHERE g.goal_id = ? ORDER BY s.created_at, s.sub_agent_id`,
    [goal_id],
  )
}

/** Live agents whose parent is dead or deleted. */
export function orphans(store: Store): Promise<{ agent_id: string; spawned_by: string; listed: number }[]> {
  return store.all(
    `SELECT agent_id, spawned_by, EXISTS (SELECT 1 FROM sub_agents s WHERE s.sub_agent_id = a.agent_id
       AND s.status = 'running') AS listed
     FROM agents_view a WHERE spawned_by IS NOT NULL AND died_at IS NULL AND NOT EXISTS
       (SELECT 1 FROM agents_view p WHERE p.agent_id = a.spawned_by AND p.died_at IS NULL)`,
  )
}

/** Returns an agent's latest tool calls, newest first. */
export function lastActions(store: Store, agent_id: string, limit: number) {
  return store.all<{ tool: string; arguments: string; outcome: string | null; is_error: number | null }>(
    `SELECT tool, arguments, outcome, is_error FROM tool_calls_view WHERE agent_id = ? ORDER BY started_at DESC, call_id DESC LIMIT ?`,
    [agent_id, limit],
  )
}

/** Maximum number of each kind in one prompt. */
export const REPORTED_AT_ONCE = 20

const UNREPORTED = `${ROW} WHERE s.parent_agent_id = ? AND s.status <> 'running' AND s.told_at IS NULL AND NOT EXISTS
    (SELECT 1 FROM goals_view g WHERE g.goal_id = s.goal_id AND g.parent_goal_id IS NOT NULL)
  ORDER BY s.completed_at, s.sub_agent_id LIMIT ${REPORTED_AT_ONCE}`

/**
 * Returns ended sub-agents not yet reported to their parent. Excludes those that a goal waits for, which reads of them
 * in its pursuit.
 */
export function unreportedSubAgents(store: Store, parent_agent_id: string): Promise<SubAgentRow[]> {
  return store.all<SubAgentRow>(UNREPORTED, [parent_agent_id])
}

export interface InstructionRow {
  instruction_id: string
  message: string
  parent: string
}

const INSTRUCTIONS = `SELECT i.instruction_id, i.message, p.name AS parent FROM sub_agent_instructions i
    JOIN agents_view a ON a.agent_id = i.sub_agent_id JOIN agents_view p ON p.agent_id = a.spawned_by
  WHERE i.sub_agent_id = ? AND i.delivered_at IS NULL ORDER BY i.created_at, i.instruction_id LIMIT ${REPORTED_AT_ONCE}`

export function instructionsFor(store: Store, sub_agent_id: string): Promise<InstructionRow[]> {
  return store.all<InstructionRow>(INSTRUCTIONS, [sub_agent_id])
}

/** Adds a sub-agent below its parent. Refused if the parent's limits are reached, also under concurrent requests. */
export const takePlace = defineEffect({
  name: 'sub_agents.take_place',
  mustChange: true,
  schema: z.object({
    sub_agent_id: z.string(),
    parent_agent_id: z.string(),
    name: z.string(),
    role: z.string(),
    task: z.string(),
    max_cycles: z.int(),
    goal_id: z.string(),
    profile: z.string().nullable(),
    call_id: z.string().nullable(),
  }),
  statements: (child, now) => ({
    sql: `INSERT INTO sub_agents (sub_agent_id, parent_agent_id, name, role, task, depth, max_cycles, goal_id, profile, call_id, created_at)
          SELECT ?, agent_id, ?, ?, ?, depth + 1, ?, ?, ?, ?, ? FROM (SELECT agent_id, died_at,
            coalesce((SELECT depth FROM sub_agents WHERE sub_agent_id = a.agent_id), 0) AS depth,
            (SELECT count(*) FROM sub_agents WHERE parent_agent_id = a.agent_id AND status = 'running') AS running
            FROM agents_view a WHERE agent_id = ?) parent
          WHERE died_at IS NULL AND depth < ? AND running < ? ON CONFLICT DO NOTHING`,
    params: [
      child.sub_agent_id,
      child.name,
      child.role,
      child.task,
      child.max_cycles,
      child.goal_id,
      child.profile,
      child.call_id,
      now,
      child.parent_agent_id,
      MAX_DEPTH,
      MAX_CHILDREN,
    ],
  }),
})

/** Ends a sub-agent; null keeps the stored result. Refused if it has already ended. */
export const endSubAgent = defineEffect({
  name: 'sub_agents.end',
  mustChange: true,
  schema: z.object({
    sub_agent_id: z.string(),
    status: z.enum(SUB_AGENT_STATUSES),
    result: z.string().nullable(),
    ending: z.string().nullable(),
  }),
  statements: ({ sub_agent_id, status, result, ending }, now) => ({
    sql: `UPDATE sub_agents SET status = ?, result = coalesce(?, result), ending = ?, completed_at = ?
          WHERE sub_agent_id = ? AND status = 'running'`,
    params: [status, result, ending, now, sub_agent_id],
  }),
})

const LAST_CYCLE =
  'This is your last cycle. Call finish_goal in it, with what you have by then: otherwise I get no result.'

/**
 * Counts a cycle before it runs, so that a sub-agent whose process crashes every time also reaches its limit. A
 * sub-agent cannot see its cycles, so it is sent an instruction when the last of several begins.
 */
export const countCycle = defineEffect({
  name: 'sub_agents.count_cycle',
  schema: z.object({ sub_agent_id: z.string() }),
  statements: ({ sub_agent_id }, now) => [
    { sql: 'UPDATE sub_agents SET cycles = cycles + 1 WHERE sub_agent_id = ?', params: [sub_agent_id] },
    {
      sql: `INSERT INTO sub_agent_instructions (instruction_id, sub_agent_id, message, created_at)
        SELECT ?, sub_agent_id, ?, ? FROM sub_agents WHERE sub_agent_id = ? AND cycles = max_cycles AND max_cycles > 1`,
      params: [`last-${sub_agent_id}`, LAST_CYCLE, now, sub_agent_id],
    },
  ],
})

export const markReported = defineEffect({
  name: 'sub_agents.mark_reported',
  schema: z.object({ sub_agent_ids: z.array(z.string()) }),
  statements: ({ sub_agent_ids }, now) =>
    sub_agent_ids.map(id => ({
      sql: 'UPDATE sub_agents SET told_at = coalesce(told_at, ?) WHERE sub_agent_id = ?',
      params: [now, id],
    })),
})

/** Makes a goal wait for its agent's sub-agents: their tasks become its subgoals. */
export const waitFor = defineEffect({
  name: 'sub_agents.wait_for',
  schema: z.object({ goal_id: z.string(), parent_agent_id: z.string(), sub_agent_ids: z.array(z.string()) }),
  statements: ({ goal_id, parent_agent_id, sub_agent_ids }) =>
    sub_agent_ids.map(id =>
      adoptGoal(goal_id, {
        sql: "SELECT goal_id FROM sub_agents WHERE sub_agent_id = ? AND parent_agent_id = ? AND status = 'running'",
        params: [id, parent_agent_id],
      }),
    ),
})

export const instruct = defineEffect({
  name: 'sub_agents.instruct',
  schema: z.object({ instruction_id: z.string(), sub_agent_id: z.string(), message: z.string() }),
  statements: (row, now) => insertInto('sub_agent_instructions', { ...row, created_at: now }),
})

export const markInstructionsRead = defineEffect({
  name: 'sub_agents.instructed',
  schema: z.object({ instruction_ids: z.array(z.string()) }),
  statements: ({ instruction_ids }, now) =>
    instruction_ids.map(id => ({
      sql: 'UPDATE sub_agent_instructions SET delivered_at = ? WHERE instruction_id = ?',
      params: [now, id],
    })),
})

/** Sub-agents that ended before a given time and whose results no active goal waits for. */
const REMOVABLE = `agents a WHERE a.spawned_by IS NOT NULL AND a.died_at < ? AND NOT EXISTS
  (SELECT 1 FROM goals_view g JOIN goals_view above ON above.goal_id = g.parent_goal_id WHERE g.agent_id = a.agent_id AND above.status = 'active')`

export function numberOfRemovable(store: Store, before: number): Promise<number> {
  return countRows(store, `FROM ${REMOVABLE}`, [before])
}

export function removable(store: Store, before: number, limit: number): Promise<string[]> {
  return listColumn(store, `SELECT a.agent_id FROM ${REMOVABLE} ORDER BY a.died_at, a.agent_id LIMIT ?`, [
    before,
    limit,
  ])
}

/**
 * Preserves data of a removed sub-agent: its transcripts move to the top-level agent. Marks a result that a goal waited
 * for as reported, because that goal reported it.
 */
export const keepOfRemoved = defineEffect({
  name: 'sub_agents.keep_of_removed',
  schema: z.object({ sub_agent_id: z.string() }),
  statements: ({ sub_agent_id }, now) => [
    ...passTranscripts(sub_agent_id),
    {
      sql: `UPDATE sub_agents SET told_at = coalesce(told_at, ?) WHERE sub_agent_id = ? AND EXISTS
            (SELECT 1 FROM goals_view g WHERE g.goal_id = sub_agents.goal_id AND g.parent_goal_id IS NOT NULL)`,
      params: [now, sub_agent_id],
    },
  ],
})

export const SUB_AGENT_EFFECTS = [
  takePlace,
  endSubAgent,
  countCycle,
  markReported,
  waitFor,
  instruct,
  markInstructionsRead,
  keepOfRemoved,
]
