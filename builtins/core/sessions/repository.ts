import { agentNameOf } from '#core/agents/statements'
import { z } from '#kernel'
import {
  allOf,
  type Condition,
  countRows,
  type Dates,
  datesIn,
  defineEffect,
  insertIf,
  type ListWindow,
  type Store,
  type Stored,
} from '#platform/store/contract'
import { type Session, sessionUsed } from './contract.ts'

export interface SessionRow
  extends Stored<Omit<Session, 'cost_usd' | 'tokens' | 'metadata'>, 'started_at' | 'last_active' | 'completed_at'> {
  cost_micros: number
  metadata: string | null
}

const OF_SESSION = 'SELECT 1 FROM task_runs_view t WHERE t.session_id = sessions.session_id'
const UNUSED = `NOT EXISTS (${OF_SESSION} AND t.ended_at IS NULL)`
/** Matches sessions that a task made for itself, in its own transaction. */
const OF_TASK = `session_key IS NULL AND EXISTS (${OF_SESSION} AND t.created_at = sessions.created_at)`
/** Matches sessions without activity since `?` that have no running or waiting task. */
const IDLE = `status = 'running' AND last_active < ? AND ${UNUSED}`
/** Matches these, and those that a task made for itself and without activity since the second `?`. */
const OVER = `status = 'running' AND (last_active < ? OR last_active < ? AND ${OF_TASK}) AND ${UNUSED}`

export const EXPIRING = `SELECT session_id FROM sessions WHERE ${OVER}`

/** Sessions idle since before `idle_before` are shown as expired, even if that is not stored yet. */
const ROW = `SELECT session_id, agent_id, user_id, session_key, task, started_at, last_active, completed_at, cost_micros,
  input_tokens, output_tokens, duration_ms, metadata,
  CASE WHEN ${IDLE} THEN 'expired' ELSE status END AS status, ${agentNameOf('sessions.agent_id')} AS agent_name FROM sessions`

export function findSession(store: Store, session_id: string, user_id: string, idle_before: number) {
  return store.get<SessionRow>(`${ROW} WHERE session_id = ? AND user_id = ?`, [idle_before, session_id, user_id])
}

/** Returns the user's running session with this key; there is at most one. */
export function findByKey(store: Store, user_id: string, session_key: string, idle_before: number) {
  return store.get<SessionRow>(`${ROW} WHERE user_id = ? AND session_key = ? AND status = 'running'`, [
    idle_before,
    user_id,
    session_key,
  ])
}

export interface SessionFilter extends Dates {
  user_id: string
  /** Selects the sessions of all other users instead. */
  of_others?: boolean
  agent_id?: string | undefined
  session_key?: string | undefined
  status?: Session['status'] | undefined
}

export function listSessions(
  store: Store,
  filter: SessionFilter,
  idle_before: number,
  { limit = -1, offset = 0, order = 'newest' }: ListWindow,
) {
  const { where, params } = condition(filter, idle_before)
  const way = order === 'newest' ? 'DESC' : 'ASC'
  return store.all<SessionRow>(`${ROW} WHERE ${where} ORDER BY created_at ${way}, session_id ${way} LIMIT ? OFFSET ?`, [
    idle_before,
    ...params,
    limit,
    offset,
  ])
}

export function countSessions(store: Store, filter: SessionFilter, idle_before: number): Promise<number> {
  const { where, params } = condition(filter, idle_before)
  return countRows(store, `FROM sessions WHERE ${where}`, params)
}

function condition(
  { user_id, of_others = false, agent_id, session_key, status, ...dates }: SessionFilter,
  idle_before: number,
): Condition {
  const parts: Condition[] = [
    { where: `user_id ${of_others ? '<>' : '='} ?`, params: [user_id] },
    ...datesIn('created_at', dates),
  ]
  if (agent_id !== undefined) parts.push({ where: 'agent_id = ?', params: [agent_id] })
  if (session_key !== undefined) parts.push({ where: 'session_key = ?', params: [session_key] })
  if (status !== undefined)
    parts.push({ where: `CASE WHEN ${IDLE} THEN 'expired' ELSE status END = ?`, params: [idle_before, status] })
  return allOf(parts)
}

export function countIdle(store: Store, idle_before: number, of_tasks_before: number): Promise<number> {
  const params = [idle_before, of_tasks_before]
  return countRows(store, `FROM sessions WHERE ${OVER}`, params)
}

/** Refused when the agent is gone, or another running session of the user has the key. */
export const openSession = defineEffect({
  name: 'sessions.open',
  mustChange: true,
  schema: z.object({
    session_id: z.string(),
    agent_id: z.string(),
    user_id: z.string(),
    session_key: z.string().nullable(),
    task: z.string(),
    metadata: z.record(z.string(), z.unknown()).nullable(),
  }),
  statements: ({ agent_id, metadata, ...row }, now) =>
    insertIf(
      'sessions',
      {
        ...row,
        agent_id,
        metadata: metadata && JSON.stringify(metadata),
        started_at: now,
        created_at: now,
        last_active: now,
      },
      { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ? AND died_at IS NULL)', params: [agent_id] },
      'ON CONFLICT DO NOTHING',
    ),
})

/** Closes a session. Refused if it is not running. */
export const closeSession = defineEffect({
  name: 'sessions.close',
  mustChange: true,
  schema: z.object({ session_id: z.string() }),
  statements: ({ session_id }, now) => ({
    sql: "UPDATE sessions SET status = 'closed', completed_at = ? WHERE session_id = ? AND status = 'running'",
    params: [now, session_id],
  }),
})

/** Marks idle sessions as expired, all of them or one, and frees their keys. */
export const expireSessions = defineEffect({
  name: 'sessions.expire',
  schema: z.object({
    idle_before: z.int(),
    of_tasks_before: z.int(),
    session_id: z.string().optional(),
  }),
  statements: ({ idle_before, of_tasks_before, session_id }, now) => ({
    sql: `UPDATE sessions SET status = 'expired', completed_at = ? WHERE ${OVER} AND (? IS NULL OR session_id = ?)`,
    params: [now, idle_before, of_tasks_before, session_id, session_id],
  }),
})

export const SESSION_EFFECTS = [openSession, closeSession, expireSessions, sessionUsed]
