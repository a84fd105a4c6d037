import { defineError, type Effect, token, z } from '#kernel'

export { sessionUsed } from './statements.ts'

export const SESSION_STATUSES = ['running', 'expired', 'closed'] as const

/** What groups the tasks of one user with one agent: their conversation, and what they cost. */
export const Session = z.object({
  session_id: z.string(),
  agent_id: z.string(),
  user_id: z.string().describe('The tenant, from X-Svc-User'),
  session_key: z.string().nullable().describe("The user's own name for it"),
  task: z.string().describe('Subject (default: the first instruction)'),
  status: z.enum(SESSION_STATUSES),
  started_at: z.iso.datetime(),
  last_active: z.iso.datetime(),
  completed_at: z.iso.datetime().nullable().describe('When it was closed or expired'),
  cost_usd: z.number(),
  tokens: z.number().int(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  duration_ms: z.number().int().describe('How long its tasks ran, added up'),
  metadata: z.record(z.string(), z.unknown()).nullable(),
})
export type Session = z.infer<typeof Session>

/** Which session a request means: by its id, else by the user's own key, else a fresh one. */
export interface SessionWanted {
  agent_id: string
  tenant: string
  session_id?: string | null | undefined
  session_key?: string | null | undefined
  /** What a session is about that has to be made. */
  task: string
  metadata?: Record<string, unknown> | null | undefined
}

export interface Sessions {
  /**
   * The session that is meant, and the effects that make it when there is none: they belong into the transaction of whatever
   * needs it, which is refused when another request was first; resolve again then.
   * @throws SessionNotFoundError (also for expired ones and those of other tenants), SessionClosedError, OtherAgentSessionError
   */
  resolve(wanted: SessionWanted): Promise<{ session_id: string; effects: readonly Effect[] }>
  /** A session of this tenant that has not expired. @throws SessionNotFoundError */
  get(session_id: string, tenant: string): Promise<Session>
  /** Marks the sessions that were idle for `server.session_ttl_hours` as expired. @returns how many */
  expire(): Promise<number>
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
    `Session ${p.session_id} is closed; begin another by leaving session_id out, or with a session_key.`,
})
export const OtherAgentSessionError = defineError({
  code: 'session_of_other_agent',
  name: 'OtherAgentSessionError',
  status: 409,
  title: 'Session of another agent',
  message: (p: { session: string; agent_id: string }) =>
    `The session ${p.session} belongs to agent ${p.agent_id}; a session has one agent. Use another key, or that agent.`,
})

/** What runs in sessions. */
export interface SessionTasks {
  /** Cancels what runs, or waits, in a session. */
  cancelIn(session_id: string): Promise<void>
}
export const SessionTasks = token<SessionTasks>('session_tasks')
