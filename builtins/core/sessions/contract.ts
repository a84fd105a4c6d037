import { AgentName } from '#core/agents/contract'
import { defineError, type Effect, token, z } from '#kernel'

export { sessionUsed } from './statements.ts'

export const SESSION_STATUSES = ['running', 'expired', 'closed'] as const

/** Groups the tasks of one user with one agent: their conversation and their cost. */
export const Session = z.object({
  session_id: z.string(),
  agent_id: z.string(),
  agent_name: AgentName,
  user_id: z.string().describe('The tenant, from X-Svc-User'),
  session_key: z.string().nullable().describe('Name of the session, chosen by the user'),
  task: z.string().describe('Subject of the session (default: the first instruction)'),
  status: z.enum(SESSION_STATUSES),
  started_at: z.iso.datetime(),
  last_active: z.iso.datetime(),
  completed_at: z.iso.datetime().nullable().describe('When it was closed or expired'),
  cost_usd: z.number(),
  tokens: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  duration_ms: z.int().describe('Total run time of its tasks, in milliseconds'),
  metadata: z.record(z.string(), z.unknown()).nullable(),
})
export type Session = z.infer<typeof Session>

/** Selects a session: by id, otherwise by the user's key, otherwise a new one. */
export interface SessionWanted {
  agent_id: string
  tenant: string
  session_id?: string | null | undefined
  session_key?: string | null | undefined
  /** Description of the session, if a new one is created. */
  task: string
  metadata?: Record<string, unknown> | null | undefined
}

export interface Sessions {
  /**
   * Returns the session, and the writes that create it if there is none. Apply them in the same transaction as the
   * write that needs the session; if another request was first, that transaction is refused and the caller resolves
   * again.
   * @throws SessionNotFoundError (also for expired ones and those of other tenants), SessionClosedError,
   * OtherAgentSessionError
   */
  resolve(wanted: SessionWanted): Promise<{ session_id: string; effects: readonly Effect[] }>
  /** A session of this tenant that has not expired. @throws SessionNotFoundError */
  get(session_id: string, tenant: string): Promise<Session>
  /**
   * Marks sessions idle for longer than `server.session_ttl_hours` as expired.
   * @param of_tasks_before also those that a task made for itself and that are idle since before this time, in milliseconds
   * @returns their number
   */
  expire(of_tasks_before?: number): Promise<number>
  /** Returns an SQL query for the ids of the sessions that `expire` would mark now. */
  expiring(of_tasks_before: number): { sql: string; params: readonly number[] }
}
export const Sessions = token<Sessions>('sessions')

export const SessionNotFoundError = defineError({
  code: 'session_not_found',
  status: 404,
  title: 'Session not found',
  message: (p: { session_id: string }) =>
    `There is no session "${p.session_id}" of this user, or it has expired; list them with: svc sessions`,
})
export const SessionClosedError = defineError({
  code: 'session_closed',
  status: 409,
  title: 'Session closed',
  message: (p: { session_id: string }) =>
    `Session ${p.session_id} is closed. To start another one, leave session_id out or pass a session_key.`,
})
export const OtherAgentSessionError = defineError({
  code: 'session_of_other_agent',
  name: 'OtherAgentSessionError',
  status: 409,
  title: 'Session of another agent',
  message: (p: { session: string; agent_id: string }) =>
    `The session ${p.session} belongs to agent ${p.agent_id}; a session has one agent. Use another key, or that agent.`,
})

/** Tasks that run in sessions. */
export interface SessionTasks {
  /** Cancels the running and waiting tasks of a session. */
  cancelIn(session_id: string): Promise<void>
}
export const SessionTasks = token<SessionTasks>('session_tasks')
