import { agentNameOf } from '#core/agents/statements'
import { attachApproval, parkCallFor, startApprovedCall, startCall } from '#core/runtime/statements'
import { z } from '#kernel'
import {
  AMONG,
  countRows,
  defineEffect,
  insertIf,
  insertInto,
  jsonList,
  listColumn,
  type Store,
  type Stored,
} from '#platform/store/contract'
import { type ApprovalSummary, MODEL_CALL } from './contract.ts'

export interface ApprovalRow
  extends Stored<
    Omit<ApprovalSummary, 'arguments' | 'args_chars' | 'args_sha256' | 'expires_at' | 'folders' | 'edited'>,
    'created_at' | 'resolved_at'
  > {
  /** JSON, like the original arguments. */
  arguments: string
  original_arguments: string | null
  args_hash: string
  used_at: number | null
  used_by: string | null
  /** JSON of the folders that the call's agent may use. */
  folders: string | null
}

const COLUMNS = `approval_id, agent_id, session_id, goal_id, task_id, tool_name, danger, arguments, original_arguments, args_hash,
  status, reason, created_at, resolved_at, resolved_by, used_at, used_by,
  (SELECT a.folders FROM agents_view a WHERE a.agent_id = approvals.agent_id) AS folders,
  ${agentNameOf('approvals.agent_id')} AS agent_name,
  (SELECT g.objective FROM goals_view g WHERE g.goal_id = approvals.goal_id) AS goal`

export function findApproval(store: Store, approval_id: string): Promise<ApprovalRow | undefined> {
  return store.get<ApprovalRow>(`SELECT ${COLUMNS} FROM approvals WHERE approval_id = ?`, [approval_id])
}

/** Returns the state of a call in the journal, and its latest approval. */
export async function callBefore(
  store: Store,
  call_id: string,
): Promise<{ state: string | undefined; approval: ApprovalRow | undefined }> {
  const call = await store.get<{ state: string; approval_id: string | null }>(
    'SELECT state, approval_id FROM tool_calls_view WHERE call_id = ?',
    [call_id],
  )
  const approval = call?.approval_id ? await findApproval(store, call.approval_id) : undefined
  return { state: call?.state, approval }
}

export interface SameCall {
  agent_id: string
  task_id: string | null
  tool_name: string
  args_hash: string
}

/** Returns the pending request for the same call, which identical calls share. */
export function pendingFor(store: Store, same: SameCall): Promise<{ approval_id: string } | undefined> {
  return store.get(
    `SELECT approval_id FROM approvals WHERE agent_id = ? AND tool_name = ? AND args_hash = ?
     AND coalesce(task_id, '') = ? AND status = 'pending'`,
    [same.agent_id, same.tool_name, same.args_hash, same.task_id ?? ''],
  )
}

/** Returns the newest request with this name and these arguments, by any agent; pending requests come first. */
export function lastFor(
  store: Store,
  { tool_name, args_hash }: Pick<SameCall, 'tool_name' | 'args_hash'>,
): Promise<ApprovalRow | undefined> {
  return store.get<ApprovalRow>(
    `SELECT ${COLUMNS} FROM approvals WHERE tool_name = ? AND args_hash = ?
     ORDER BY CASE WHEN status = 'pending' THEN 0 ELSE 1 END, created_at DESC, approval_id DESC LIMIT 1`,
    [tool_name, args_hash],
  )
}

/** Returns whether the project has an agent with this id. */
export async function hasAgent(store: Store, agent_id: string): Promise<boolean> {
  return (await store.get('SELECT 1 FROM agents_view WHERE agent_id = ?', [agent_id])) !== undefined
}

export interface Filter {
  agent_id?: string | undefined
  tool_name?: string
  status: ApprovalRow['status'] | 'decided' | 'all'
}

const ORDERS: Partial<Record<Filter['status'], string>> = {
  pending: 'created_at, approval_id',
  decided: 'resolved_at DESC, approval_id DESC',
}

/** Lists approvals: pending ones oldest first, like a queue; others newest first, as a history. */
export function listApprovals(store: Store, filter: Filter, limit = -1, offset = 0): Promise<ApprovalRow[]> {
  const { where, params } = whereClause(filter)
  const order = ORDERS[filter.status] ?? 'created_at DESC, approval_id DESC'
  return store.all<ApprovalRow>(`SELECT ${COLUMNS} FROM approvals ${where} ORDER BY ${order} LIMIT ? OFFSET ?`, [
    ...params,
    limit,
    offset,
  ])
}

export function countApprovals(store: Store, filter: Filter): Promise<number> {
  const { where, params } = whereClause(filter)
  return countRows(store, `FROM approvals ${where}`, params)
}

function whereClause({ agent_id, tool_name, status }: Filter): { where: string; params: unknown[] } {
  const parts: [string, unknown][] = []
  if (agent_id !== undefined) parts.push(['agent_id = ?', agent_id])
  if (tool_name !== undefined) parts.push(['tool_name = ?', tool_name])
  if (status === 'decided') parts.push(['status <> ?', 'pending'])
  else if (status !== 'all') parts.push(['status = ?', status])
  const where = parts.length > 0 ? `WHERE ${parts.map(([text]) => text).join(' AND ')}` : ''
  return { where, params: parts.map(([, value]) => value) }
}

/**
 * Condition for approvals that block a cycle. Permission to call a model does not: such calls are refused until then.
 */
const HOLDS = `status = 'pending' AND task_id IS NULL AND tool_name <> '${MODEL_CALL}'`

/** Returns the pending approvals that block the daemon's work on an agent. */
export function holding(store: Store, agent_id: string): Promise<string[]> {
  return listColumn(
    store,
    `SELECT approval_id FROM approvals WHERE agent_id = ? AND ${HOLDS}
     ORDER BY created_at, approval_id`,
    [agent_id],
  )
}

/** Returns the open questions of an agent's goals. */
export function openQuestions(store: Store, agent_id: string): Promise<string[]> {
  return listColumn(
    store,
    `SELECT question_id FROM questions_view WHERE agent_id = ? AND goal_id IS NOT NULL AND answered_at IS NULL
     ORDER BY asked_at, question_id`,
    [agent_id],
  )
}

/** Returns whether an approval blocks this agent. */
export async function isHeld(store: Store, agent_id: string): Promise<boolean> {
  const row = await store.get(`SELECT 1 FROM approvals WHERE agent_id = ? AND ${HOLDS} LIMIT 1`, [agent_id])
  return row !== undefined
}

/** Returns those of these agents that an approval blocks. */
export function findHeldAgents(store: Store, agents: readonly string[]): Promise<string[]> {
  return listColumn(store, `SELECT DISTINCT agent_id FROM approvals WHERE ${HOLDS} AND agent_id ${AMONG}`, [
    jsonList(agents),
  ])
}

/**
 * Returns pending approvals that are to be denied automatically: made before `overdue`, or for a goal or task that has
 * ended.
 */
export function settledByThemselves(store: Store, overdue: number | null): Promise<(ApprovalRow & { moot: number })[]> {
  return store.all(
    `SELECT ${COLUMNS}, moot FROM (SELECT p.*, EXISTS (SELECT 1 FROM goals_view g WHERE g.goal_id = p.goal_id
       AND g.status <> 'active') OR EXISTS (SELECT 1 FROM task_runs_view t WHERE t.task_id = p.task_id
       AND t.ended_at IS NOT NULL) AS moot FROM approvals p WHERE p.status = 'pending') approvals
     WHERE moot OR created_at <= ? ORDER BY created_at, approval_id`,
    [overdue ?? -1],
  )
}

const OF_THE_DEAD = `status = 'pending' AND EXISTS
  (SELECT 1 FROM agents_view a WHERE a.agent_id = approvals.agent_id AND a.died_at IS NOT NULL)`

/** Returns the pending approvals of dead agents. */
export function pendingOfDead(store: Store, limit: number): Promise<ApprovalRow[]> {
  return store.all<ApprovalRow>(`SELECT ${COLUMNS} FROM approvals WHERE ${OF_THE_DEAD} LIMIT ?`, [limit])
}

export function countDead(store: Store): Promise<number> {
  return countRows(store, `FROM approvals WHERE ${OF_THE_DEAD}`)
}

const Request = z.object({
  approval_id: z.string(),
  agent_id: z.string(),
  session_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  task_id: z.string().nullable(),
  tool_name: z.string(),
  danger: z.string().nullable(),
  arguments: z.string(),
  original_arguments: z.string().nullable(),
  args_hash: z.string(),
})
export type Request = z.infer<typeof Request>

/** Creates a request, unless the same one is already pending. */
export const requestApproval = defineEffect({
  name: 'approvals.request',
  mustChange: true,
  schema: Request,
  statements: (request, now) =>
    insertIf(
      'approvals',
      { ...request, status: 'pending', created_at: now },
      {
        where: `NOT EXISTS (SELECT 1 FROM approvals WHERE agent_id = ? AND tool_name = ? AND args_hash = ?
          AND coalesce(task_id, '') = ? AND status = 'pending')`,
        params: [request.agent_id, request.tool_name, request.args_hash, request.task_id ?? ''],
      },
    ),
})

/** Creates a request on behalf of all agents, unless the same one is already pending for any agent. */
export const askOnce = defineEffect({
  name: 'approvals.ask_once',
  mustChange: true,
  schema: z.object({
    approval_id: z.string(),
    agent_id: z.string(),
    tool_name: z.string(),
    danger: z.string(),
    arguments: z.string(),
    args_hash: z.string(),
  }),
  statements: (request, now) =>
    insertIf(
      'approvals',
      { ...request, status: 'pending', created_at: now },
      {
        where: "NOT EXISTS (SELECT 1 FROM approvals WHERE tool_name = ? AND args_hash = ? AND status = 'pending')",
        params: [request.tool_name, request.args_hash],
      },
    ),
})

/** Records a request that a rule or reviewer decided at once, for the history. */
export const recordApproval = defineEffect({
  name: 'approvals.record',
  schema: Request.extend({
    status: z.enum(['approved', 'denied']),
    reason: z.string().nullable(),
    resolved_by: z.string(),
  }),
  statements: (request, now) => insertInto('approvals', { ...request, created_at: now, resolved_at: now }),
})

/** Parks a call until its pending approval is decided. */
export const parkCall = defineEffect({
  name: 'approvals.park',
  mustChange: true,
  schema: z.object({ call_id: z.string(), approval_id: z.string() }),
  statements: ({ call_id, approval_id }) =>
    parkCallFor(approval_id, call_id, {
      where: "EXISTS (SELECT 1 FROM approvals WHERE approval_id = ? AND status = 'pending')",
      params: [approval_id],
    }),
})

/** Attaches a decision to its call, which then does not start. */
export const attachDecision = defineEffect({
  name: 'approvals.attach',
  schema: z.object({ call_id: z.string(), approval_id: z.string() }),
  statements: ({ call_id, approval_id }) => attachApproval(approval_id, call_id),
})

/** Starts a planned call without an approval, because its tool does not need one any more. */
export const beginCall = defineEffect({
  name: 'approvals.begin',
  mustChange: true,
  schema: z.object({ call_id: z.string() }),
  statements: ({ call_id }, now) => startCall(call_id, 'planned', now),
})

/** Starts a call and uses up its approval, in one transaction. The journal receives the approved arguments. */
export const takeApproval = defineEffect({
  name: 'approvals.take',
  mustChange: true,
  schema: z.object({ call_id: z.string(), approval_id: z.string() }),
  statements: ({ call_id, approval_id }, now) => [
    {
      sql: "UPDATE approvals SET status = 'consumed', used_at = ?, used_by = ? WHERE approval_id = ? AND status = 'approved'",
      params: [now, call_id, approval_id],
    },
    startApprovedCall(
      approval_id,
      call_id,
      { sql: 'SELECT arguments, args_hash FROM approvals WHERE approval_id = ?', params: [approval_id] },
      now,
    ),
  ],
})

/** Decides a pending request; refused when it was already decided. */
export const resolveApproval = defineEffect({
  name: 'approvals.resolve',
  mustChange: true,
  schema: z.object({
    approval_id: z.string(),
    status: z.enum(['approved', 'denied']),
    reason: z.string().nullable(),
    resolved_by: z.string(),
    /** Arguments approved in place of the requested ones, as JSON with its hash. */
    edited: z.object({ arguments: z.string(), args_hash: z.string() }).nullable(),
  }),
  statements: ({ approval_id, status, reason, resolved_by, edited }, now) => [
    {
      sql: "UPDATE approvals SET status = ?, reason = ?, resolved_by = ?, resolved_at = ? WHERE approval_id = ? AND status = 'pending'",
      params: [status, reason, resolved_by, now, approval_id],
    },
    ...(edited
      ? [
          {
            sql: `UPDATE approvals SET original_arguments = coalesce(original_arguments, arguments), arguments = ?, args_hash = ?
                  WHERE approval_id = ?`,
            params: [edited.arguments, edited.args_hash, approval_id],
          },
        ]
      : []),
  ],
})

export const APPROVAL_EFFECTS = [
  requestApproval,
  askOnce,
  recordApproval,
  parkCall,
  attachDecision,
  beginCall,
  takeApproval,
  resolveApproval,
]
