import { z } from '#kernel'
import { defineEffect, type Store } from '../store/contract.ts'
import { type AgentRow, type AgentStatus, STATUSES } from './contract.ts'

/** `run_at` of what never comes due by itself; the store parks leases there. */
const NEVER = Number.MAX_SAFE_INTEGER

/** The one place where a status comes from: facts that are stored once, in the order in which they count. */
const STATUS = `CASE
  WHEN a.died_at IS NOT NULL THEN 'dead'
  WHEN a.paused_at IS NOT NULL THEN 'paused'
  WHEN EXISTS (SELECT 1 FROM approvals p WHERE p.agent_id = a.agent_id AND p.status = 'pending') THEN 'waiting_approval'
  WHEN l.owner IS NOT NULL AND l.run_at > ? THEN 'working'
  WHEN a.waiting_for IS NOT NULL THEN 'waiting'
  ELSE 'idle' END`

const ROW = `SELECT a.agent_id, a.name, a.role, a.model, a.preset, ${STATUS} AS status, a.paused_at, a.died_at, a.error,
  a.waiting_for, a.failures, a.spawned_by, a.spawned_at AS created_at, nullif(l.claimed_at, 0) AS last_active, g.goal_id, g.objective,
  l.run_at, coalesce(l.cycle_num, 0) AS cycle_num
  FROM agents a LEFT JOIN leases l ON l.agent_id = a.agent_id
  LEFT JOIN goals g ON g.goal_id = (SELECT goal_id FROM goals WHERE agent_id = a.agent_id AND status = 'active'
                                    ORDER BY priority DESC, created_at, goal_id LIMIT 1)`

const BY_AGE = 'ORDER BY a.spawned_at, a.rowid'

export async function findAgents(store: Store, ref: string, now: number): Promise<AgentRow[]> {
  const byId = await store.get<AgentRow>(`${ROW} WHERE a.agent_id = ?`, [now, ref])
  if (byId) return [byId]
  return store.all<AgentRow>(`${ROW} WHERE a.name = ? AND a.died_at IS NULL ${BY_AGE}`, [now, ref])
}

export function listAgents(store: Store, now: number, limit: number, offset: number): Promise<AgentRow[]> {
  return store.all<AgentRow>(`${ROW} ${BY_AGE} LIMIT ? OFFSET ?`, [now, limit, offset])
}

export async function countAgents(
  store: Store,
  now: number,
): Promise<Record<AgentStatus | 'goals_active' | 'total', number>> {
  const rows = await store.all<{ status: AgentStatus; n: number }>(
    `SELECT ${STATUS} AS status, count(*) AS n FROM agents a LEFT JOIN leases l ON l.agent_id = a.agent_id GROUP BY 1`,
    [now],
  )
  const goals = await store.get<{ n: number }>("SELECT count(*) AS n FROM goals WHERE status = 'active'")
  const counts = Object.fromEntries(STATUSES.map(status => [status, 0])) as Record<AgentStatus, number>
  for (const { status, n } of rows) counts[status] = n
  return { ...counts, goals_active: goals?.n ?? 0, total: rows.reduce((sum, { n }) => sum + n, 0) }
}

/** The newest agents: bounded, so that a prompt does not grow with their number. */
export function listPeers(store: Store, agent_id: string, limit: number) {
  return store.all<{ name: string; role: string; objective: string | null }>(
    `SELECT a.name, substr(a.role, 1, 60) AS role, (SELECT substr(objective, 1, 60) FROM goals WHERE agent_id = a.agent_id
       AND status = 'active' ORDER BY priority DESC, created_at LIMIT 1) AS objective
     FROM agents a WHERE a.agent_id <> ? AND a.died_at IS NULL ORDER BY a.rowid DESC LIMIT ?`,
    [agent_id, limit],
  )
}

export async function spendOf(store: Store, agent_id: string): Promise<{ cost_micros: number; tokens: number }> {
  const row = await store.get<{ cost_micros: number; tokens: number }>(
    `SELECT coalesce(sum(cost_micros), 0) AS cost_micros, coalesce(sum(input_tokens + output_tokens), 0) AS tokens
     FROM spend WHERE agent_id = ?`,
    [agent_id],
  )
  return row ?? { cost_micros: 0, tokens: 0 }
}

export interface NudgeRow {
  nudge_id: string
  message: string
}

/** The agent's nudges that no model has answered yet, oldest first. */
export function waitingNudges(store: Store, agent_id: string): Promise<NudgeRow[]> {
  return store.all<NudgeRow>(
    'SELECT nudge_id, message FROM nudges WHERE agent_id = ? AND delivered_at IS NULL ORDER BY created_at, nudge_id LIMIT 20',
    [agent_id],
  )
}

export const insertAgent = defineEffect({
  name: 'agents.insert',
  schema: z.object({
    agent_id: z.string(),
    name: z.string(),
    role: z.string(),
    model: z.string(),
    preset: z.string(),
    spawned_by: z.string().nullable(),
  }),
  statements: (agent, now) => [
    {
      sql: 'INSERT INTO agents (agent_id, name, role, model, preset, spawned_by, spawned_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      params: [agent.agent_id, agent.name, agent.role, agent.model, agent.preset, agent.spawned_by, now],
    },
    {
      sql: 'INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, ?)',
      params: [agent.agent_id, agent.agent_id, now],
    },
  ],
})

export const updateAgent = defineEffect({
  name: 'agents.update',
  mustChange: true,
  schema: z.object({ agent_id: z.string(), model: z.string().optional(), role: z.string().optional() }),
  statements: ({ agent_id, model, role }) => [
    {
      sql: 'UPDATE agents SET model = coalesce(?, model), role = coalesce(?, role) WHERE agent_id = ?',
      params: [model, role, agent_id],
    },
  ],
})

export const deleteAgent = defineEffect({
  name: 'agents.delete',
  mustChange: true,
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }) => [{ sql: 'DELETE FROM agents WHERE agent_id = ?', params: [agent_id] }],
})

/** Pausing keeps the time of the first pause; a running cycle ends and is not followed by another. */
export const pauseAgent = defineEffect({
  name: 'agents.pause',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }, now) => [
    {
      sql: 'UPDATE agents SET paused_at = coalesce(paused_at, ?) WHERE agent_id = ? AND died_at IS NULL',
      params: [now, agent_id],
    },
    { sql: 'UPDATE leases SET run_at = ? WHERE agent_id = ? AND owner IS NULL', params: [NEVER, agent_id] },
  ],
})

export const resumeAgent = defineEffect({
  name: 'agents.resume',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }, now) => [
    { sql: 'UPDATE agents SET paused_at = NULL WHERE agent_id = ? AND died_at IS NULL', params: [agent_id] },
    {
      sql: `UPDATE leases SET run_at = max(?, rested_at) WHERE agent_id = ? AND owner IS NULL AND run_at = ?
            AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = leases.agent_id AND a.died_at IS NOT NULL)`,
      params: [now, agent_id, NEVER],
    },
  ],
})

export const insertNudge = defineEffect({
  name: 'nudges.insert',
  schema: z.object({ nudge_id: z.string(), agent_id: z.string(), message: z.string() }),
  statements: ({ nudge_id, agent_id, message }, now) => [
    {
      sql: 'INSERT INTO nudges (nudge_id, agent_id, message, created_at) VALUES (?, ?, ?, ?)',
      params: [nudge_id, agent_id, message, now],
    },
  ],
})

/** Belongs into the commit that records the model's answer to the prompt that held the nudges. */
export const nudgesDelivered = defineEffect({
  name: 'nudges.delivered',
  schema: z.object({ nudge_ids: z.array(z.string()) }),
  statements: ({ nudge_ids }, now) =>
    nudge_ids.map(nudge_id => ({
      sql: 'UPDATE nudges SET delivered_at = ? WHERE nudge_id = ? AND delivered_at IS NULL',
      params: [now, nudge_id],
    })),
})

/** How the agent fared: a failure counts up and keeps its sentence, a success clears both. */
export const agentFared = defineEffect({
  name: 'agents.fared',
  schema: z.object({ agent_id: z.string(), error: z.string().nullable(), waiting_for: z.string().nullable() }),
  statements: ({ agent_id, error, waiting_for }) => [
    {
      sql: `UPDATE agents SET error = ?, waiting_for = ?, failures = CASE WHEN ? IS NULL THEN 0 ELSE failures + 1 END
            WHERE agent_id = ?`,
      params: [error, waiting_for, error, agent_id],
    },
  ],
})

export const AGENT_EFFECTS = [
  insertAgent,
  updateAgent,
  deleteAgent,
  pauseAgent,
  resumeAgent,
  insertNudge,
  nudgesDelivered,
  agentFared,
]
