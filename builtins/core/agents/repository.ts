import { ImageRef, readImages, writeImages } from '#core/images/contract'
import { type PluginHandle, z } from '#kernel'
import { Daemon } from '#platform/daemon/contract'
import { countRows, defineEffect, insertInto, listColumn, type Store } from '#platform/store/contract'
import { insertLease, NEVER, parkLease, unparkLease } from '#platform/store/statements'
import { GivenFolder } from '#safety/sandbox/contract'
import { type AgentFilter, type AgentRow, type AgentStatus, type AgentSummary, NUDGES_AT_ONCE } from './contract.ts'

/** Returns the time before which leases have expired: now, or `NEVER` (all of them) where no daemon runs. */
export async function leasesOver(svc: PluginHandle): Promise<number> {
  const isDriven = !svc.has(Daemon) || (await svc.use(Daemon).isDriven())
  return isDriven ? svc.clock.ms() : NEVER
}

/** SQL condition for pending approvals that block an agent: neither those of tasks, nor permissions to call a model. */
const HOLDING = "status = 'pending' AND task_id IS NULL AND tool_name <> 'model:call'"

/**
 * SQL expression that derives an agent's status from stored facts, in order of precedence. `?` is the time before which
 * leases have expired.
 */
const STATUS = `CASE
  WHEN a.died_at IS NOT NULL THEN 'dead'
  WHEN a.paused_at IS NOT NULL THEN 'paused'
  WHEN EXISTS (SELECT 1 FROM approvals_view WHERE agent_id = a.agent_id AND ${HOLDING}) THEN 'waiting_approval'
  WHEN l.owner IS NOT NULL AND l.run_at > ? THEN 'working'
  WHEN a.waiting_for IS NOT NULL THEN 'waiting'
  ELSE 'idle' END`

/**
 * SQL for a column of the goal that an agent pursues: unblocked ones first, then the highest priority, then the oldest.
 */
function activeGoalColumn(column: string): string {
  return `(SELECT ${column} FROM goals_view f WHERE agent_id = a.agent_id AND status = 'active' ORDER BY blocked,
    priority DESC, created_at, goal_id LIMIT 1)`
}

const ROW = `SELECT a.agent_id, a.name, a.role, a.given_role, a.model, a.preset, ${STATUS} AS status, a.paused_at, a.died_at, a.error,
  a.waiting_for, a.held_by, a.failures, a.spawned_by, a.workspace, a.folders,
  coalesce(a.root_agent_id, a.agent_id) AS root_agent_id, a.spawned_at AS created_at, nullif(l.claimed_at, 0) AS last_active, g.goal_id, g.objective,
  l.run_at, coalesce(l.cycle_num, 0) AS cycle_num,
  EXISTS (SELECT 1 FROM schedules_view s WHERE s.agent_id = a.agent_id AND enabled = 1 AND every_n_cycles IS NOT NULL) AS counts_cycles
  FROM agents a LEFT JOIN leases_view l ON l.id = a.agent_id
  LEFT JOIN goals_view g ON g.goal_id = ${activeGoalColumn('goal_id')}`

const BY_ID = `${ROW} WHERE a.agent_id = ?`
const BY_AGE = 'ORDER BY a.spawned_at, a.rowid'

type StoredAgent = Omit<AgentRow, 'folders'> & { folders: string | null }

function agentOf({ folders, ...row }: StoredAgent): AgentRow {
  return { ...row, folders: folders === null ? [] : JSON.parse(folders) }
}

export async function findAgents(store: Store, ref: string, over: number): Promise<AgentRow[]> {
  const byId = await store.get<StoredAgent>(BY_ID, [over, ref])
  if (byId) return [agentOf(byId)]
  const named = `${ROW} WHERE a.name = ? AND a.died_at IS NULL ${BY_AGE}`
  return (await store.all<StoredAgent>(named, [over, ref])).map(agentOf)
}

export async function listAgents(store: Store, over: number, limit: number, offset: number): Promise<AgentRow[]> {
  return (await store.all<StoredAgent>(`${ROW} ${BY_AGE} LIMIT ? OFFSET ?`, [over, limit, offset])).map(agentOf)
}

/** Returns the names and ids of live agents, the newest first, of at most `limit` agents. */
export async function listNames(store: Store, limit: number): Promise<string[]> {
  const agents = await store.all<{ agent_id: string; name: string }>(
    'SELECT agent_id, name FROM agents WHERE died_at IS NULL ORDER BY spawned_at DESC LIMIT ?',
    [limit],
  )
  return [...new Set(agents.flatMap(({ agent_id, name }) => [name, agent_id]))]
}

/** A summary, with the cursor at which the next page of the list begins. */
export interface SummaryRow extends AgentSummary {
  failures: number
  waiting_task: string | null
  spawned_at: number
  n: number
}

const ENDED_SUB_AGENT = 'a.spawned_by IS NOT NULL AND a.died_at IS NOT NULL'

/** Returns agents after the given one, oldest first, at most `limit`. */
export function listSummaries(
  store: Store,
  over: number,
  { status, all = true }: AgentFilter,
  after: Pick<SummaryRow, 'spawned_at' | 'n'>,
  limit: number,
  offset: number,
): Promise<SummaryRow[]> {
  return store.many<SummaryRow>(
    `SELECT a.agent_id, a.name, a.role, a.model, ${STATUS} AS status, ${activeGoalColumn('objective')} AS goal, a.failures,
       (SELECT min(task_id) FROM approvals_view p WHERE p.agent_id = a.agent_id AND p.status = 'pending') AS waiting_task,
       a.spawned_at, a.rowid AS n
     FROM agents a LEFT JOIN leases_view l ON l.id = a.agent_id
     WHERE (a.spawned_at, a.rowid) > (?, ?)${all ? '' : ` AND NOT (${ENDED_SUB_AGENT})`}${status ? ` AND ${STATUS} = ?` : ''}
     ${BY_AGE} LIMIT ? OFFSET ?`,
    [over, after.spawned_at, after.n, ...(status ? [over, status] : []), limit, offset],
  )
}

/** Returns the number of sub-agents that have ended and are not removed yet. */
export function countEndedSubAgents(store: Store): Promise<number> {
  return countRows(store, `FROM agents a WHERE ${ENDED_SUB_AGENT}`)
}

export interface AliveRow {
  agent_id: string
  spawned_at: number
  n: number
}

/** Returns live agents that are paused, or that are not, after the given one, oldest first. */
export function listAlive(
  store: Store,
  which: 'awake' | 'paused',
  after: Pick<AliveRow, 'spawned_at' | 'n'>,
  limit: number,
): Promise<AliveRow[]> {
  return store.all<AliveRow>(
    `SELECT a.agent_id, a.spawned_at, a.rowid AS n FROM agents a
     WHERE (a.spawned_at, a.rowid) > (?, ?) AND a.died_at IS NULL AND a.paused_at IS ${which === 'awake' ? '' : 'NOT'} NULL
     ${BY_AGE} LIMIT ?`,
    [after.spawned_at, after.n, limit],
  )
}

/** Returns whether a live agent has this preset. */
export async function hasAlive(store: Store, preset: string): Promise<boolean> {
  const found = await store.get('SELECT 1 AS one FROM agents WHERE preset = ? AND died_at IS NULL LIMIT 1', [preset])
  return found !== undefined
}

/** An agent with its data from several modules. */
export interface FleetRow extends AgentSummary {
  steps: number | null
  failures: number
  error: string | null
  waiting_for: string | null
  held_by: string | null
  spawned_by: string | null
  approvals: number
  /** Whether its goal waits for other goals, a process or an answer of the operator. */
  blocked: number | null
  /** Whether it waits for that answer. */
  asks_question: number
  /**
   * The tool of the approval that has waited longest, one that blocks the agent before those of tasks; then its task,
   * the start of its arguments, and their length.
   */
  asks_for: string | null
  asks_task: string | null
  asks_with: string | null
  asks_chars: number | null
  cost_micros: number
  tokens: number
  cycle_count: number
  run_at: number | null
  last_active: number | null
  created_at: number
  n: number
}

/** Maximum length of a waiting call's arguments in overviews, in characters. */
export const GLANCE = 2_000

/**
 * Returns agents for the overview, oldest first. `+ 0` makes the database sort the few approvals of one agent instead
 * of scanning all approvals by age.
 */
export function listFleet(
  store: Store,
  over: number,
  after: Pick<FleetRow, 'created_at' | 'n'>,
  limit: number,
): Promise<FleetRow[]> {
  const sumOf = (what: string) =>
    `(SELECT coalesce(sum(${what}), 0) FROM spend_view spend WHERE spend.agent_id = a.agent_id)`
  return store.many<FleetRow>(
    `SELECT a.agent_id, a.name, a.role, a.model, ${STATUS} AS status, g.objective AS goal, g.steps_completed AS steps,
       a.failures, a.error, a.waiting_for, a.held_by, a.spawned_by,
       g.blocked, EXISTS (SELECT 1 FROM questions_view q
         WHERE q.goal_id = g.goal_id AND q.answered_at IS NULL) AS asks_question,
       (SELECT count(*) FROM approvals_view p WHERE p.agent_id = a.agent_id AND p.status = 'pending') AS approvals,
       ask.tool_name AS asks_for, ask.task_id AS asks_task, substr(ask.arguments, 1, ${GLANCE}) AS asks_with, length(ask.arguments) AS asks_chars,
       ${sumOf('cost_micros')} AS cost_micros, ${sumOf('input_tokens + output_tokens')} AS tokens,
       coalesce(l.cycle_num, 0) AS cycle_count, l.run_at, nullif(l.claimed_at, 0) AS last_active,
       a.spawned_at AS created_at, a.rowid AS n
     FROM agents a LEFT JOIN leases_view l ON l.id = a.agent_id
     LEFT JOIN goals_view g ON g.goal_id = ${activeGoalColumn('goal_id')}
     LEFT JOIN approvals_view ask ON ask.approval_id = (SELECT p.approval_id FROM approvals_view p WHERE p.agent_id = a.agent_id
       AND p.status = 'pending' ORDER BY p.task_id IS NOT NULL, p.created_at + 0, p.approval_id LIMIT 1)
     WHERE (a.spawned_at, a.rowid) > (?, ?) ${BY_AGE} LIMIT ?`,
    [over, after.created_at, after.n, limit],
  )
}

/** Returns the approval that has waited longest of those that an agent's tasks wait for. */
export function approvalOfTask(store: Store, agent_id: string) {
  return store.get<{ approval_id: string; task_id: string; tool_name: string }>(
    `SELECT approval_id, task_id, tool_name FROM approvals_view WHERE agent_id = ? AND status = 'pending'
       AND task_id IS NOT NULL ORDER BY created_at + 0, approval_id LIMIT 1`,
    [agent_id],
  )
}

export async function numberOfAgents(store: Store): Promise<number> {
  return (await store.get<{ n: number }>('SELECT total AS n FROM agent_number'))?.n ?? 0
}

export async function countAgents(
  store: Store,
  over: number,
): Promise<Record<AgentStatus | 'goals_active' | 'total', number>> {
  // Counts stored facts, and the derived status for the few agents with an approval or a lease.
  const all = await store.get<Record<'total' | 'dead' | 'paused' | 'waiting' | 'goals_active', number>>(
    'SELECT total, dead, paused, waiting, active AS goals_active FROM agent_totals, goal_totals_view',
  )
  const busy = await store.all<{ status: AgentStatus; n: number; waiting: number }>(
    `SELECT ${STATUS} AS status, count(*) AS n, count(a.waiting_for) AS waiting
     FROM agents a LEFT JOIN leases_view l ON l.id = a.agent_id
     WHERE a.agent_id IN (SELECT agent_id FROM approvals_view WHERE ${HOLDING}
       UNION SELECT agent_id FROM leases_view WHERE kind = 'agent' AND owner IS NOT NULL) GROUP BY 1`,
    [over],
  )
  const { total = 0, dead = 0, paused = 0, waiting: waits = 0, goals_active = 0 } = all ?? {}
  const of = (status: AgentStatus) => busy.find(row => row.status === status) ?? { n: 0, waiting: 0 }
  const [working, parked] = [of('working'), of('waiting_approval')]
  const waiting = waits - working.waiting - parked.waiting
  const idle = total - dead - paused - waiting - working.n - parked.n
  return { working: working.n, waiting_approval: parked.n, waiting, idle, paused, dead, goals_active, total }
}

/** Returns the distinct models of live agents; an empty string is the default model. */
export function listModelsInUse(store: Store): Promise<string[]> {
  return listColumn(store, 'SELECT DISTINCT model FROM agents WHERE died_at IS NULL')
}

/** Maximum length of the role and the goal of another agent, in characters. */
const GLANCE_CHARS = 60
const cut = (column: string) =>
  `CASE WHEN length(${column}) > ${GLANCE_CHARS} THEN substr(${column}, 1, ${GLANCE_CHARS}) || '…' ELSE ${column} END`
const PEERS = `SELECT a.agent_id, a.name, ${cut('a.role')} AS role, (SELECT ${cut('objective')} FROM goals_view WHERE agent_id = a.agent_id
    AND status = 'active' ORDER BY priority DESC, created_at LIMIT 1) AS objective, a.paused_at
  FROM agents a WHERE a.agent_id <> ? AND a.spawned_by IS NULL AND a.died_at IS NULL ORDER BY a.rowid DESC LIMIT ?`

/**
 * Returns the newest agents, at most `limit`, so that a prompt does not grow with their number. Sub-agents work for
 * their parents alone, and would change all prompts whenever one begins or ends.
 */
export function listPeers(store: Store, agent_id: string, limit: number) {
  return store.all<{
    agent_id: string
    name: string
    role: string
    objective: string | null
    paused_at: number | null
  }>(PEERS, [agent_id, limit])
}

export async function spendOf(store: Store, agent_id: string): Promise<{ cost_micros: number; tokens: number }> {
  const row = await store.get<{ cost_micros: number; tokens: number }>(
    `SELECT coalesce(sum(cost_micros), 0) AS cost_micros, coalesce(sum(input_tokens + output_tokens), 0) AS tokens
     FROM spend_view WHERE agent_id = ?`,
    [agent_id],
  )
  return row ?? { cost_micros: 0, tokens: 0 }
}

export interface NudgeRow {
  nudge_id: string
  message: string
  images: ImageRef[]
}

/** The agent's nudges that no model has answered yet, oldest first. */
export async function waitingNudges(store: Store, agent_id: string): Promise<NudgeRow[]> {
  const rows = await store.all<Omit<NudgeRow, 'images'> & { images: string | null }>(
    'SELECT nudge_id, message, images FROM nudges WHERE agent_id = ? AND delivered_at IS NULL ORDER BY created_at, nudge_id LIMIT ?',
    [agent_id, NUDGES_AT_ONCE],
  )
  return rows.map(row => ({ ...row, images: readImages(row.images) }))
}

export const insertAgent = defineEffect({
  name: 'agents.insert',
  schema: z.object({
    agent_id: z.string(),
    name: z.string(),
    role: z.string(),
    given_role: z.string().nullish(),
    model: z.string(),
    preset: z.string(),
    spawned_by: z.string().nullable(),
    workspace: z.string().optional(),
    folders: z.array(GivenFolder).readonly().optional(),
  }),
  statements: ({ agent_id, spawned_by, ...agent }, now) => [
    {
      sql: `INSERT INTO agents (agent_id, name, role, given_role, model, preset, spawned_by, workspace, folders, root_agent_id, spawned_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, coalesce(?, (SELECT workspace FROM agents WHERE agent_id = ?), ''),
            coalesce(?, (SELECT folders FROM agents WHERE agent_id = ?)),
            (SELECT coalesce(root_agent_id, agent_id) FROM agents WHERE agent_id = ?), ?)`,
      params: [
        agent_id,
        agent.name,
        agent.role,
        agent.given_role,
        agent.model,
        agent.preset,
        spawned_by,
        agent.workspace,
        spawned_by,
        writeFolders(agent.folders),
        spawned_by,
        spawned_by,
        now,
      ],
    },
    insertLease(agent_id, now),
  ],
})

/** Refuses the commit, after the insertion of the agent, if its name refers to another agent too. */
export const claimName = defineEffect({
  name: 'agents.claim_name',
  mustChange: true,
  schema: z.object({ agent_id: z.string(), name: z.string() }),
  statements: ({ agent_id, name }) => ({
    sql: `UPDATE agents SET name = ? WHERE agent_id = ? AND NOT EXISTS (SELECT 1 FROM agents
          WHERE agent_id <> ? AND (agent_id = ? OR (name = ? AND died_at IS NULL)))`,
    params: [name, agent_id, agent_id, name, name],
  }),
})

export const updateAgent = defineEffect({
  name: 'agents.update',
  mustChange: true,
  schema: z.object({
    agent_id: z.string(),
    model: z.string().optional(),
    role: z.string().optional(),
    workspace: z.string().optional(),
    folders: z.array(GivenFolder).readonly().optional(),
  }),
  statements: ({ agent_id, model, role, workspace, folders }) => ({
    sql: `UPDATE agents SET model = coalesce(?, model), role = coalesce(?, role), given_role = coalesce(?, given_role),
          workspace = coalesce(?, workspace), folders = coalesce(?, folders) WHERE agent_id = ?`,
    params: [model, role, role, workspace, writeFolders(folders), agent_id],
  }),
})

function writeFolders(folders: readonly GivenFolder[] | undefined): string | undefined {
  return folders && JSON.stringify(folders)
}

export const deleteAgent = defineEffect({
  name: 'agents.delete',
  mustChange: true,
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }) => ({ sql: 'DELETE FROM agents WHERE agent_id = ?', params: [agent_id] }),
})

/** Marks an agent as dead; its row stays. */
export const agentDied = defineEffect({
  name: 'agents.died',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }, now) => [
    {
      sql: 'UPDATE agents SET died_at = coalesce(died_at, ?), waiting_for = NULL WHERE agent_id = ?',
      params: [now, agent_id],
    },
    parkLease(agent_id),
  ],
})

/** Pauses an agent, and keeps the time of the first pause. A running cycle ends, and no other follows. */
export const pauseAgent = defineEffect({
  name: 'agents.pause',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }, now) => [
    {
      sql: 'UPDATE agents SET paused_at = coalesce(paused_at, ?) WHERE agent_id = ? AND died_at IS NULL',
      params: [now, agent_id],
    },
    parkLease(agent_id),
  ],
})

export const resumeAgent = defineEffect({
  name: 'agents.resume',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }, now) => [
    { sql: 'UPDATE agents SET paused_at = NULL WHERE agent_id = ? AND died_at IS NULL', params: [agent_id] },
    unparkLease(agent_id, now, {
      where: 'NOT EXISTS (SELECT 1 FROM agents WHERE agent_id = ? AND died_at IS NOT NULL)',
      params: [agent_id],
    }),
  ],
})

export const insertNudge = defineEffect({
  name: 'nudges.insert',
  schema: z.object({ nudge_id: z.string(), agent_id: z.string(), message: z.string(), images: z.array(ImageRef) }),
  statements: ({ images, ...row }, now) =>
    insertInto('nudges', { ...row, images: writeImages(images), created_at: now }),
})

/** Marks nudges as read. Belongs in the commit that records the model's answer to the prompt that contained them. */
export const nudgesDelivered = defineEffect({
  name: 'nudges.delivered',
  schema: z.object({ nudge_ids: z.array(z.string()) }),
  statements: ({ nudge_ids }, now) =>
    nudge_ids.map(nudge_id => ({
      sql: 'UPDATE nudges SET delivered_at = ? WHERE nudge_id = ? AND delivered_at IS NULL',
      params: [now, nudge_id],
    })),
})

/** Records the guard that blocked the agent's last cycle; null when none did. */
export const agentHeld = defineEffect({
  name: 'agents.held',
  schema: z.object({ agent_id: z.string(), held_by: z.string().nullable() }),
  statements: ({ agent_id, held_by }) => ({
    sql: 'UPDATE agents SET held_by = ? WHERE agent_id = ? AND held_by IS DISTINCT FROM ?',
    params: [held_by, agent_id, held_by],
  }),
})

/** Returns the number of agents whose cycle runs, and of cycles that are due. */
export async function countCycles(store: Store, now: number): Promise<{ running: number; due: number }> {
  const row = await store.get<{ running: number; due: number }>(
    `SELECT count(*) FILTER (WHERE owner IS NOT NULL AND run_at > ?) AS running, count(*) FILTER (WHERE owner IS NULL AND run_at <= ?) AS due
     FROM leases_view WHERE kind = 'agent' AND (owner IS NOT NULL OR run_at <= ?)`,
    [now, now, now],
  )
  return row ?? { running: 0, due: 0 }
}

/** Records a cycle's outcome: a failure increments the count and keeps its message, a success clears both. */
export const recordAgentOutcome = defineEffect({
  name: 'agents.record_outcome',
  schema: z.object({ agent_id: z.string(), error: z.string().nullable(), waiting_for: z.string().nullable() }),
  statements: ({ agent_id, error, waiting_for }) => ({
    sql: `UPDATE agents SET error = ?, waiting_for = ?, failures = CASE WHEN ? IS NULL THEN 0 ELSE failures + 1 END
          WHERE agent_id = ?`,
    params: [error, waiting_for, error, agent_id],
  }),
})

export const AGENT_EFFECTS = [
  insertAgent,
  claimName,
  updateAgent,
  deleteAgent,
  agentDied,
  pauseAgent,
  resumeAgent,
  insertNudge,
  nudgesDelivered,
  agentHeld,
  recordAgentOutcome,
]
