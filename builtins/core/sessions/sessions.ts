import { AgentDeadError, AgentNotFoundError, Agents } from '#core/agents/contract'
import { type Effect, type PluginHandle, token } from '#kernel'
import { isoTime, Store, usdOf } from '#platform/store/contract'
import type { SessionsConfig } from './config.ts'
import {
  OtherAgentSessionError,
  type Session,
  SessionClosedError,
  SessionNotFoundError,
  type Sessions,
  SessionTasks,
  type SessionWanted,
} from './contract.ts'
import {
  closeSession,
  countIdle,
  EXPIRING,
  expireSessions,
  findByKey,
  findSession,
  openSession,
  type SessionRow,
} from './repository.ts'

const HOUR_MS = 3_600_000
/** Number of lost races after which another cause is assumed. */
const TRIES = 5

/** Sessions with all their operations for operators, from the current provider of `Sessions` where it has them. */
export const OwnSessions = token<SessionBook>('sessions/sessions')

/** Operations on sessions, for all callers. */
export class SessionBook implements Sessions {
  readonly #svc: PluginHandle
  readonly #config: SessionsConfig

  constructor(svc: PluginHandle, config: SessionsConfig) {
    this.#svc = svc
    this.#config = config
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /** Time before which a session's last activity makes it expired, in milliseconds; 0 if sessions never expire. */
  get idleBefore(): number {
    const hours = this.#config.session_ttl_hours
    return hours > 0 ? Math.max(0, Math.floor(this.#svc.clock.ms() - hours * HOUR_MS)) : 0
  }

  async resolve(wanted: SessionWanted) {
    const known = await this.#find(wanted)
    if (known) return { session_id: known.session_id, effects: [] }
    const { agent_id, tenant, session_key, task, metadata } = wanted
    const session_id = this.#svc.ports.ids.make('sess', 12)
    const made = { agent_id, task, session_key: session_key ?? null, metadata: metadata ?? null }
    return { session_id, effects: [openSession({ session_id, user_id: tenant, ...made })] }
  }

  /** The running session of this user and key, or a new one. @throws OtherAgentSessionError, AgentDeadError, AgentNotFoundError */
  async open(
    wanted: Omit<SessionWanted, 'session_id'>,
    also: readonly Effect[] = [],
  ): Promise<{ session: Session; created: boolean }> {
    for (let tries = 0; tries < TRIES; tries++) {
      const { agent_id, died_at } = await this.#svc.use(Agents).find(wanted.agent_id)
      if (died_at !== null) throw new AgentDeadError({ agent_id })
      const { session_id, effects } = await this.resolve({ ...wanted, agent_id })
      if (effects.length > 0 && !(await this.#store.apply([...effects, ...also]))) continue
      return { session: await this.get(session_id, wanted.tenant), created: effects.length > 0 }
    }
    throw new AgentNotFoundError({ ref: wanted.agent_id })
  }

  async get(session_id: string, tenant: string): Promise<Session> {
    const row = await this.#row(session_id, tenant)
    if (!row || row.status === 'expired') throw new SessionNotFoundError({ session_id })
    return toSession(row)
  }

  /** Closes a session and cancels its tasks. Closing it again has no effect. */
  async close(session_id: string, tenant: string): Promise<void> {
    await this.get(session_id, tenant)
    await this.#store.apply([closeSession({ session_id })])
    if (this.#svc.has(SessionTasks)) await this.#svc.use(SessionTasks).cancelIn(session_id)
  }

  expiring(of_tasks_before: number) {
    return { sql: EXPIRING, params: [this.idleBefore, of_tasks_before] }
  }

  async expire(of_tasks_before = 0): Promise<number> {
    const idle_before = this.idleBefore
    const n = await countIdle(this.#store, idle_before, of_tasks_before)
    if (n > 0) await this.#store.apply([expireSessions({ idle_before, of_tasks_before })])
    return n
  }

  async #find({ agent_id, tenant, session_id, session_key }: SessionWanted): Promise<SessionRow | undefined> {
    if (session_id) {
      const row = await this.#row(session_id, tenant)
      if (!row || row.status === 'expired') throw new SessionNotFoundError({ session_id })
      if (row.status === 'closed') throw new SessionClosedError({ session_id })
      return requireAgent(row, agent_id)
    }
    if (!session_key) return undefined
    const row = await findByKey(this.#store, tenant, session_key, this.idleBefore)
    if (!row) return undefined
    if (row.status !== 'expired') return requireAgent(row, agent_id)
    await this.#expire(row.session_id)
    return undefined
  }

  async #row(session_id: string, tenant: string): Promise<SessionRow | undefined> {
    const row = await findSession(this.#store, session_id, tenant, this.idleBefore)
    if (row?.status === 'expired') await this.#expire(session_id)
    return row
  }

  async #expire(session_id: string): Promise<void> {
    await this.#store.apply([expireSessions({ idle_before: this.idleBefore, of_tasks_before: 0, session_id })])
  }
}

function requireAgent(row: SessionRow, agent_id: string): SessionRow {
  if (row.agent_id === agent_id) return row
  const session = row.session_key === null ? row.session_id : `with the key "${row.session_key}"`
  throw new OtherAgentSessionError({ session, agent_id: row.agent_id })
}

export function toSession({
  started_at,
  last_active,
  completed_at,
  cost_micros,
  metadata,
  ...row
}: SessionRow): Session {
  return {
    ...row,
    started_at: isoTime(started_at),
    last_active: isoTime(last_active),
    completed_at: isoTime(completed_at),
    cost_usd: usdOf(cost_micros),
    tokens: row.input_tokens + row.output_tokens,
    metadata: metadata === null ? null : (JSON.parse(metadata) as Record<string, unknown>),
  }
}
