import { adoptGoal } from '#core/goals/statements'
import { z } from '#kernel'
import {
  AMONG,
  countRows,
  defineEffect,
  insertInto,
  isoTime,
  jsonList,
  listColumn,
  type Store,
  type Stored,
} from '#platform/store/contract'
import { OPERATOR } from '#society/a2a/contract'
import type { Delegation } from './contract.ts'

const COLUMNS = `delegation_id, message_id, coalesce(from_agent, '${OPERATOR}') AS from_agent, to_agent, goal_id, from_goal_id,
  objective, waits, status, result, created_at, ended_at`

/** SQL: whether a delegation is pending and its goal active. */
const IS_OPEN = `status = 'pending' AND EXISTS
  (SELECT 1 FROM goals_view g WHERE g.goal_id = delegations.goal_id AND g.status = 'active')`

export type DelegationRow = Stored<Delegation, 'waits' | 'created_at' | 'ended_at'>

export function delegationOf({ waits, created_at, ended_at, ...rest }: DelegationRow): Delegation {
  return {
    ...rest,
    waits: waits === 1,
    created_at: isoTime(created_at),
    ended_at: isoTime(ended_at),
  }
}

export function findDelegation(store: Store, delegation_id: string): Promise<DelegationRow | undefined> {
  return store.get(`SELECT ${COLUMNS} FROM delegations WHERE delegation_id = ?`, [delegation_id])
}

/**
 * Returns the agent that delegated a goal, null for the operator or a deleted agent, and the text of its message, null
 * once it was removed.
 */
export function findDelegator(
  store: Store,
  goal_id: string,
): Promise<{ from_agent: string | null; body: string | null } | undefined> {
  return store.get(
    `SELECT d.from_agent, m.body FROM delegations d LEFT JOIN a2a_messages_view m ON m.message_id = d.message_id
     WHERE d.goal_id = ?`,
    [goal_id],
  )
}

/** Returns the newest delegations that an agent gave. */
export function givenBy(store: Store, agent_id: string): Promise<Pick<DelegationRow, 'delegation_id' | 'to_agent'>[]> {
  return store.all(
    'SELECT delegation_id, to_agent FROM delegations WHERE from_agent = ? ORDER BY created_at DESC, delegation_id LIMIT 5',
    [agent_id],
  )
}

/** Returns the delegations that an agent gave or received, newest first. */
export function listDelegations(store: Store, agent_id: string, limit: number, offset: number) {
  return store.all<DelegationRow>(
    `SELECT ${COLUMNS} FROM delegations WHERE from_agent = ? OR to_agent = ?
     ORDER BY created_at DESC, delegation_id LIMIT ? OFFSET ?`,
    [agent_id, agent_id, limit, offset],
  )
}

export function countDelegations(store: Store, agent_id: string): Promise<number> {
  return countRows(store, 'FROM delegations WHERE from_agent = ? OR to_agent = ?', [agent_id, agent_id])
}

/** Returns the delegations of all agents, newest first. */
export function allDelegations(store: Store, limit: number, offset: number): Promise<DelegationRow[]> {
  return store.all(`SELECT ${COLUMNS} FROM delegations ORDER BY created_at DESC, delegation_id LIMIT ? OFFSET ?`, [
    limit,
    offset,
  ])
}

export function countAllDelegations(store: Store): Promise<number> {
  return countRows(store, 'FROM delegations')
}

/** Returns the recipient's number of active goals and the sender's number of pending delegations. */
export async function loadOf(store: Store, from_agent: string, to_agent: string) {
  const row = await store.get<{ goals: number; pending: number }>(
    `SELECT (SELECT count(*) FROM goals_view WHERE agent_id = ? AND status = 'active') AS goals,
       (SELECT count(*) FROM delegations WHERE coalesce(from_agent, '${OPERATOR}') = ? AND status = 'pending') AS pending`,
    [to_agent, from_agent],
  )
  return row ?? { goals: 0, pending: 0 }
}

/** Returns a goal and its ancestors, the goal first, and which of them were delegated. */
export function goalsAbove(store: Store, goal_id: string) {
  return store.all<{ goal_id: string; agent_id: string; objective: string; status: string; delegated: number }>(
    `WITH RECURSIVE above (goal_id, n) AS (
       SELECT goal_id, 0 FROM goals_view WHERE goal_id = ?
       UNION SELECT p.goal_id, above.n + 1 FROM above JOIN goals_view g ON g.goal_id = above.goal_id
         LEFT JOIN delegations d ON d.goal_id = g.goal_id
         JOIN goals_view p ON p.goal_id = coalesce(g.parent_goal_id, d.from_goal_id) WHERE above.n < 50)
     SELECT g.goal_id, g.agent_id, g.objective, g.status, EXISTS (SELECT 1 FROM delegations d WHERE d.goal_id = g.goal_id) AS delegated
     FROM above JOIN goals_view g ON g.goal_id = above.goal_id ORDER BY above.n`,
    [goal_id],
  )
}

/** Returns the agents to which tasks of these goals, or of their subgoals, were delegated. */
export function agentsBelow(store: Store, goal_ids: readonly string[]): Promise<string[]> {
  const ids = jsonList(goal_ids)
  return listColumn(
    store,
    `SELECT DISTINCT d.to_agent FROM delegations d JOIN goals_view g ON g.goal_id = d.from_goal_id
     WHERE g.goal_id ${AMONG} OR g.parent_goal_id ${AMONG}`,
    [ids, ids],
  )
}

/**
 * Returns the sender's pending delegation with this objective. The operator is exempt and may delegate the same task to
 * several agents.
 */
export function sameOpen(store: Store, from_agent: string, objective: string) {
  return store.get<{ delegation_id: string; to_agent: string }>(
    "SELECT delegation_id, to_agent FROM delegations WHERE from_agent = ? AND status = 'pending' AND objective = ? LIMIT 1",
    [from_agent, objective],
  )
}

/** Returns pending delegations whose goal has ended, was deleted with its agent, or is too old. */
export function endedDelegations(store: Store, older_than: number) {
  return store.all<DelegationRow & { goal_status: string | null; goal_result: string | null }>(
    `SELECT ${COLUMNS}, goal_status, goal_result FROM (SELECT d.*,
       g.status AS goal_status, g.result AS goal_result
     FROM delegations d LEFT JOIN goals_view g ON g.goal_id = d.goal_id
     WHERE d.status = 'pending' AND (g.status IS NULL OR g.status <> 'active' OR d.created_at < ?)
     ORDER BY d.created_at LIMIT 100) ended ORDER BY created_at`,
    [older_than],
  )
}

export const insertDelegation = defineEffect({
  name: 'delegations.insert',
  schema: z.object({
    delegation_id: z.string(),
    message_id: z.string(),
    from_agent: z.string().nullable(),
    to_agent: z.string(),
    from_goal_id: z.string().nullable(),
    goal_id: z.string(),
    objective: z.string(),
    waits: z.boolean(),
  }),
  statements: (row, now) => insertInto('delegations', { ...row, created_at: now }),
})

/** Ends a delegation. Refused when it has ended already, so that its end is reported once. */
export const endDelegation = defineEffect({
  name: 'delegations.end',
  mustChange: true,
  schema: z.object({ delegation_id: z.string(), status: z.enum(['completed', 'failed']), result: z.string() }),
  statements: ({ delegation_id, status, result }, now) => ({
    sql: `UPDATE delegations SET status = ?, result = ?, ended_at = ? WHERE delegation_id = ? AND status = 'pending'`,
    params: [status, result, now, delegation_id],
  }),
})

/** SQL condition on a goal `g`: others still do tasks for it, and it does not wait for them. */
export const HAS_OPEN = `EXISTS (SELECT 1 FROM delegations WHERE from_goal_id = g.goal_id AND waits = 0 AND ${IS_OPEN})`
/** Returns the tasks that others still do for a goal which does not wait for them. */
export function openDelegationsOf(store: Store, goal_id: string) {
  return store.all<{ delegation_id: string; to_agent: string }>(
    `SELECT delegation_id, to_agent FROM delegations WHERE from_goal_id = ? AND waits = 0 AND ${IS_OPEN} ORDER BY created_at`,
    [goal_id],
  )
}

/** Makes the delegating goal wait for a task that has not ended. */
export const waitForDelegation = defineEffect({
  name: 'delegations.wait',
  schema: z.object({ delegation_id: z.string(), goal_id: z.string() }),
  statements: ({ delegation_id, goal_id }) => [
    { sql: `UPDATE delegations SET waits = 1 WHERE delegation_id = ? AND ${IS_OPEN}`, params: [delegation_id] },
    adoptGoal(goal_id, {
      sql: 'SELECT goal_id FROM delegations WHERE delegation_id = ? AND waits = 1',
      params: [delegation_id],
    }),
  ],
})

export const DELEGATION_EFFECTS = [insertDelegation, endDelegation, waitForDelegation]
