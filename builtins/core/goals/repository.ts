import { ImageRef, writeImages } from '#core/images/contract'
import { type Message, Message as MessageSchema } from '#core/models/contract'
import { CallIntent, endCall, insertCall, laterCalls } from '#core/runtime/statements'
import { z } from '#kernel'
import {
  AMONG,
  allOf,
  type Condition,
  countRows,
  type Dates,
  datesIn,
  defineEffect,
  insertIf,
  jsonList,
  type ListWindow,
  type Store,
} from '#platform/store/contract'
import type { Goal, GoalRow, PursuedGoal } from './contract.ts'

export const COLUMNS = `goal_id, agent_id, objective, status, priority, origin, parent_goal_id, reasoning, result, unconfirmed,
  steps_completed, acceptance, refusals, claims_refused, plan, deadline_at, created_at, completed_at`

/**
 * SQL: whether goal `g` is blocked, by a subgoal, a question to the operator, a goal that it comes after, or until its
 * agent is woken.
 */
const BLOCKED = `(EXISTS (SELECT 1 FROM goals sub WHERE sub.parent_goal_id = g.goal_id AND sub.status = 'active')
  OR EXISTS (SELECT 1 FROM questions_view q WHERE q.goal_id = g.goal_id AND q.answered_at IS NULL)
  OR EXISTS (SELECT 1 FROM leases_view l WHERE l.id = g.agent_id AND l.wakes = g.parked_wakes)
  OR EXISTS (SELECT 1 FROM goal_dependencies d JOIN goals first ON first.goal_id = d.after_goal_id
    WHERE d.goal_id = g.goal_id AND first.status = 'active'))`
const QUESTION = `(SELECT question_id FROM questions_view q WHERE q.goal_id = g.goal_id AND q.answered_at IS NULL
  ORDER BY asked_at, question_id LIMIT 1)`
/** Beginning of a message about criteria. It concerns one goal, so it is not repeated in others. */
export const CRITERIA_CHANGED = 'The acceptance criteria of the goal '
const UNREPORTED = "sub.status <> 'active' AND sub.told_at IS NULL"
/** SQL: whether goal `e` has ended and was no part of another one. */
const ENDED = "e.status <> 'active' AND e.origin <> 'subgoal'"
const FIRST = 'ORDER BY blocked, priority DESC, created_at, goal_id LIMIT 1'

/** State of a goal that a pursuit reads before each step. */
const NOW = `${BLOCKED} AS blocked,
  EXISTS (SELECT 1 FROM nudges_view n WHERE n.agent_id = g.agent_id AND delivered_at IS NULL) AS nudged,
  EXISTS (SELECT 1 FROM goals sub WHERE sub.parent_goal_id = g.goal_id AND ${UNREPORTED}) AS unreported,
  coalesce((SELECT wakes FROM leases_view l WHERE l.id = g.agent_id), 0) AS wakes`

const ACTIVE = `SELECT ${COLUMNS}, images, messages, transcript_epoch, ${NOW}, ${QUESTION} AS question_id,
  EXISTS (SELECT 1 FROM goal_dependencies d WHERE d.goal_id = g.goal_id) AS follows,
  EXISTS (SELECT 1 FROM nudges_view n WHERE n.agent_id = g.agent_id AND n.delivered_at < g.created_at) AS was_nudged,
  EXISTS (SELECT 1 FROM goals e WHERE e.agent_id = g.agent_id AND ${ENDED}) AS has_earlier FROM goals g WHERE agent_id = ? AND status = 'active' ${FIRST}`
const AT_HAND = `SELECT goal_id, ${NOW}
  FROM goals g WHERE agent_id = ? AND status = 'active' AND EXISTS (SELECT 1 FROM agents_view a
    WHERE a.agent_id = g.agent_id AND a.paused_at IS NULL AND a.died_at IS NULL) ${FIRST}`
const ONE = `SELECT ${COLUMNS} FROM goals WHERE goal_id = ?`
const UNREPORTED_OF = `SELECT ${COLUMNS} FROM goals sub WHERE parent_goal_id = ? AND ${UNREPORTED} ORDER BY completed_at, goal_id LIMIT 20`

/** Returns the goal to pursue: highest priority first, then the oldest. A blocked one only if all are blocked. */
export function activeGoal(store: Store, agent_id: string): Promise<PursuedGoal | undefined> {
  return store.get(ACTIVE, [agent_id])
}

/** The goal that the agent would pursue now, and whether it has unread messages. */
export type CurrentGoal = Pick<PursuedGoal, 'goal_id' | 'blocked' | 'nudged' | 'unreported' | 'wakes'>

/** Returns the goal to pursue now; undefined when there is none, or when the agent is paused or dead. */
export function goalAtHand(store: Store, agent_id: string): Promise<CurrentGoal | undefined> {
  return store.get<CurrentGoal>(AT_HAND, [agent_id])
}

/** A goal that another one waits for. */
export interface AwaitedGoal {
  goal_id: string
  agent_id: string
  /** Id of the approval or question for which its agent waits. */
  asks: string | null
}

/** Returns the active goals that a goal waits for: its subgoals, and those that it comes after. */
export function awaitedGoals(store: Store, goal_id: string): Promise<AwaitedGoal[]> {
  return store.all(
    `SELECT g.goal_id, g.agent_id, coalesce(
       (SELECT min(approval_id) FROM approvals_view p WHERE p.goal_id = g.goal_id AND p.status = 'pending'),
       (SELECT min(question_id) FROM questions_view q WHERE q.goal_id = g.goal_id AND q.answered_at IS NULL)) AS asks
     FROM goals g WHERE g.status = 'active' AND (g.parent_goal_id = ?
       OR g.goal_id IN (SELECT after_goal_id FROM goal_dependencies WHERE goal_id = ?)) ORDER BY g.created_at, g.goal_id`,
    [goal_id, goal_id],
  )
}

export function findGoal(store: Store, goal_id: string): Promise<GoalRow | undefined> {
  return store.get<GoalRow>(ONE, [goal_id])
}

/** Filter of a list of goals. */
export interface GoalFilter extends Dates {
  status?: Goal['status'] | undefined
}

/** Newest first by default. */
export function listGoals(
  store: Store,
  agent_id: string,
  { limit = -1, offset = 0, order = 'newest' }: ListWindow = {},
  filter: GoalFilter = {},
): Promise<GoalRow[]> {
  const { where, params } = condition(agent_id, filter)
  const way = order === 'newest' ? 'DESC' : 'ASC'
  return store.all<GoalRow>(
    `SELECT ${COLUMNS} FROM goals WHERE ${where} ORDER BY created_at ${way}, goal_id ${way} LIMIT ? OFFSET ?`,
    [...params, limit, offset],
  )
}

export function numberOfGoals(store: Store, agent_id: string, filter: GoalFilter): Promise<number> {
  const { where, params } = condition(agent_id, filter)
  return countRows(store, `FROM goals WHERE ${where}`, params)
}

/** Returns the tool call of a goal that runs now, with its begin: calls of one answer begin one after another. */
export async function runningCall(store: Store, goal_id: string): Promise<{ tool: string; since: number } | undefined> {
  const call = await store.get<{ tool: string; started_at: number; last_end: number | null }>(
    `SELECT tool, started_at, (SELECT max(ended_at) FROM tool_calls_view e WHERE e.goal_id = c.goal_id) AS last_end
     FROM tool_calls_view c WHERE goal_id = ? AND state = 'started' ORDER BY started_at, call_id LIMIT 1`,
    [goal_id],
  )
  return call && { tool: call.tool, since: Math.max(call.started_at, call.last_end ?? 0) }
}

/** What the model calls for a goal cost. */
export interface GoalSpend {
  micros: number
  tokens: number
}

/** Returns what goals cost, by goal id; goals without a recorded call are left out. */
export async function spendOf(store: Store, goal_ids: readonly string[]): Promise<ReadonlyMap<string, GoalSpend>> {
  const rows = await store.all<GoalSpend & { goal_id: string }>(
    // Calls are indexed by their agent, not by their goal.
    `SELECT goal_id, sum(cost_micros) AS micros, sum(input_tokens + output_tokens) AS tokens FROM spend_view
     WHERE agent_id IN (SELECT agent_id FROM goals WHERE goal_id ${AMONG}) AND goal_id ${AMONG} GROUP BY goal_id`,
    [jsonList(goal_ids), jsonList(goal_ids)],
  )
  return new Map(rows.map(row => [row.goal_id, row]))
}

function condition(agent_id: string, { status, ...dates }: GoalFilter): Condition {
  const ofStatus = status === undefined ? [] : [{ where: 'status = ?', params: [status] }]
  return allOf([{ where: 'agent_id = ?', params: [agent_id] }, ...ofStatus, ...datesIn('created_at', dates)])
}

/** Returns the active goals of one agent, or of all agents. */
export function activeGoals(
  store: Store,
  agent_id?: string,
): Promise<{ goal_id: string; agent_id: string; objective: string }[]> {
  return store.all(
    "SELECT goal_id, agent_id, objective FROM goals WHERE status = 'active' AND agent_id = coalesce(?, agent_id) ORDER BY created_at, goal_id",
    [agent_id],
  )
}

/** Returns active goals that wait neither for an approval nor for an answer. */
export function listReadyGoals(store: Store): Promise<{ goal_id: string; agent_id: string }[]> {
  return store.all(
    `SELECT goal_id, agent_id FROM goals g WHERE status = 'active' AND NOT EXISTS (SELECT 1 FROM approvals_view p
       WHERE p.agent_id = g.agent_id AND p.status = 'pending' AND p.task_id IS NULL)
       AND NOT EXISTS (SELECT 1 FROM questions_view q WHERE q.goal_id = g.goal_id AND q.answered_at IS NULL) ORDER BY created_at, goal_id`,
  )
}

/** In SQL: the goals below the one of the parameter, at any depth. */
const BELOW = `WITH RECURSIVE below (goal_id, agent_id, status) AS (
    SELECT goal_id, agent_id, status FROM goals WHERE parent_goal_id = ?
    UNION SELECT g.goal_id, g.agent_id, g.status FROM goals g JOIN below b ON g.parent_goal_id = b.goal_id)`

/** Returns all active goals below a goal, at any depth. */
export function activeBelow(store: Store, goal_id: string): Promise<{ goal_id: string; agent_id: string }[]> {
  return store.all(`${BELOW} SELECT goal_id, agent_id FROM below WHERE status = 'active'`, [goal_id])
}

/**
 * Returns what must hold for a goal to end: its acceptance, how many goals below it are active, and whether others still
 * work for it.
 * @param openWork SQL conditions on the goal's row `g`
 */
export function findTerms(
  store: Store,
  goal_id: string,
  openWork: readonly string[],
): Promise<(Pick<GoalRow, 'acceptance'> & { open_subgoals: number; has_open_work: number | boolean }) | undefined> {
  return store.get(
    `SELECT acceptance, (${BELOW} SELECT count(*) FROM below WHERE status = 'active') AS open_subgoals,
       ${openWork.join(' OR ') || '1 = 0'} AS has_open_work FROM goals g WHERE goal_id = ?`,
    [goal_id, goal_id],
  )
}

/** Returns the number of goals above this one. */
export async function depthOf(store: Store, goal_id: string): Promise<number> {
  const row = await store.get<{ n: number }>(
    `WITH RECURSIVE above (goal_id, parent_goal_id) AS (
       SELECT goal_id, parent_goal_id FROM goals WHERE goal_id = ?
       UNION SELECT g.goal_id, g.parent_goal_id FROM goals g JOIN above a ON g.goal_id = a.parent_goal_id)
     SELECT count(*) - 1 AS n FROM above`,
    [goal_id],
  )
  return row?.n ?? 0
}

/** Returns ended subgoals whose result the goal's pursuit has not read. */
export function unreportedSubgoals(store: Store, goal_id: string): Promise<GoalRow[]> {
  return store.all<GoalRow>(UNREPORTED_OF, [goal_id])
}

/** Returns the parts into which an agent divided a goal, in their order. */
export function subgoalsOf(store: Store, goal_id: string): Promise<GoalRow[]> {
  return store.all<GoalRow>(
    `SELECT ${COLUMNS} FROM goals WHERE parent_goal_id = ? AND origin = 'subgoal' ORDER BY created_at, goal_id`,
    [goal_id],
  )
}

/** Returns an agent's newest ended goals other than subgoals, newest first. */
export function lastEndedGoals(store: Store, agent_id: string, limit: number): Promise<GoalRow[]> {
  return store.all<GoalRow>(
    `SELECT ${COLUMNS} FROM goals e WHERE agent_id = ? AND ${ENDED} ORDER BY completed_at DESC, goal_id DESC LIMIT ?`,
    [agent_id, limit],
  )
}

/** A message of the operator that an agent has read. */
export interface ReadNudge {
  message: string
  delivered_at: number
}

/** Returns the newest messages of the operator that an agent has read before a time, newest first. */
export function nudgesBefore(store: Store, agent_id: string, at: number, limit: number): Promise<ReadNudge[]> {
  return store.all<ReadNudge>(
    `SELECT message, delivered_at FROM nudges_view WHERE agent_id = ? AND delivered_at < ?
       AND substr(message, 1, ${CRITERIA_CHANGED.length}) <> ?
     ORDER BY delivered_at DESC, created_at DESC, nudge_id DESC LIMIT ?`,
    [agent_id, at, CRITERIA_CHANGED, limit],
  )
}

/** Returns the newest messages of the operator that an agent has read since a time, oldest first. */
export async function nudgesSince(store: Store, agent_id: string, at: number): Promise<{ message: string }[]> {
  const found = await store.all<{ message: string }>(
    'SELECT message FROM nudges_view WHERE agent_id = ? AND delivered_at >= ? ORDER BY created_at DESC, nudge_id DESC LIMIT 10',
    [agent_id, at],
  )
  return found.reverse()
}

/** Marks subgoals as read, in the commit that records the model's answer to the prompt that contained them. */
export const markSubgoalsReported = defineEffect({
  name: 'goals.mark_reported',
  schema: z.object({ goal_ids: z.array(z.string()) }),
  statements: ({ goal_ids }, now) =>
    goal_ids.map(goal_id => ({ sql: 'UPDATE goals SET told_at = ? WHERE goal_id = ?', params: [now, goal_id] })),
})

/** Inserts a goal. Refused if the agent already has an active generated goal, or if the parent of a subgoal is not active. */
export const insertGoal = defineEffect({
  name: 'goals.insert',
  mustChange: true,
  schema: z.object({
    goal_id: z.string(),
    agent_id: z.string(),
    objective: z.string(),
    priority: z.int(),
    origin: z.string(),
    reasoning: z.string().nullable(),
    parent_goal_id: z.string().nullable(),
    /** Order among the goals of the same commit. */
    place: z.int().default(0),
  }),
  statements: ({ agent_id, origin, parent_goal_id, place, ...row }, now) =>
    insertIf(
      'goals',
      { ...row, agent_id, origin, parent_goal_id, created_at: now + place },
      {
        where: `(? <> 'generated' OR NOT EXISTS
            (SELECT 1 FROM goals WHERE agent_id = ? AND status = 'active' AND origin = 'generated'))
          AND (? IS NULL OR EXISTS (SELECT 1 FROM goals WHERE goal_id = ? AND status = 'active'))`,
        params: [origin, agent_id, parent_goal_id, parent_goal_id],
      },
    ),
})

/** Keeps with a goal the messages that led to it, and their images; its first message shows them again. */
export const keepMessages = defineEffect({
  name: 'goals.keep_messages',
  schema: z.object({ goal_id: z.string(), messages: z.array(z.string()), images: z.array(ImageRef) }),
  statements: ({ goal_id, messages, images }) => ({
    sql: 'UPDATE goals SET messages = ?, images = ? WHERE goal_id = ?',
    params: [JSON.stringify(messages), writeImages(images), goal_id],
  }),
})

export const setPriority = defineEffect({
  name: 'goals.set_priority',
  mustChange: true,
  schema: z.object({ goal_id: z.string(), priority: z.int() }),
  statements: ({ goal_id, priority }) => ({
    sql: "UPDATE goals SET priority = ? WHERE goal_id = ? AND status = 'active'",
    params: [priority, goal_id],
  }),
})

/** Ends an active goal; refused when it no longer is active. */
export const endGoal = defineEffect({
  name: 'goals.end',
  mustChange: true,
  schema: z.object({
    goal_id: z.string(),
    status: z.enum(['completed', 'abandoned']),
    result: z.string(),
    unconfirmed: z.boolean(),
  }),
  statements: ({ goal_id, status, result, unconfirmed }, now) => ({
    sql: "UPDATE goals SET status = ?, result = ?, unconfirmed = ?, completed_at = ? WHERE goal_id = ? AND status = 'active'",
    params: [status, result, unconfirmed, now, goal_id],
  }),
})

/** Marks the transcript of a goal that ends, by its first message, for retention. */
export const endTranscript = defineEffect({
  name: 'goals.end_transcript',
  schema: z.object({ goal_id: z.string() }),
  statements: ({ goal_id }, now) => ({
    sql: `UPDATE goal_transcripts SET ended_at = ? WHERE goal_id = ?
          AND seq = (SELECT min(seq) FROM goal_transcripts WHERE goal_id = ?)`,
    params: [now, goal_id, goal_id],
  }),
})

export const dropTranscript = defineEffect({
  name: 'goals.drop_transcript',
  schema: z.object({ goal_id: z.string() }),
  statements: ({ goal_id }) => [
    { sql: 'DELETE FROM goal_transcripts WHERE goal_id = ?', params: [goal_id] },
    { sql: 'UPDATE goals SET transcript_epoch = NULL WHERE goal_id = ?', params: [goal_id] },
  ],
})

export interface TranscriptRow {
  seq: number
  message: Message
}

export async function loadTranscript(store: Store, goal_id: string): Promise<TranscriptRow[]> {
  const rows = await store.all<{ seq: number; message: string }>(
    'SELECT seq, message FROM goal_transcripts WHERE goal_id = ? ORDER BY seq',
    [goal_id],
  )
  return rows.map(({ seq, message }) => ({ seq, message: JSON.parse(message) as Message }))
}

/** Number of newest messages in which an agent's last words for a goal are searched. */
const SEARCHED_WORDS = 10

/** Returns what an agent wrote last for an active goal, besides its calls. */
export async function lastWords(store: Store, goal_id: string): Promise<string | undefined> {
  const rows = await store.all<{ message: string }>(
    'SELECT message FROM goal_transcripts WHERE goal_id = ? ORDER BY seq DESC LIMIT ?',
    [goal_id, SEARCHED_WORDS],
  )
  const messages = rows.map(({ message }) => JSON.parse(message) as Message)
  return messages.find(({ role, content }) => role === 'assistant' && content.trim() !== '')?.content
}

/** Returns the messages of a goal, oldest first, also of an ended goal and of a removed sub-agent. */
export function goalMessages(store: Store, goal_id: string) {
  return store.all<{ message: string; created_at: number }>(
    `SELECT message, created_at FROM (SELECT seq, message, created_at FROM goal_transcripts WHERE goal_id = ?
       UNION ALL SELECT seq, message, created_at FROM ended_transcripts WHERE goal_id = ? AND NOT EXISTS
         (SELECT 1 FROM goals g WHERE g.goal_id = ended_transcripts.goal_id AND g.status = 'active')) said ORDER BY seq`,
    [goal_id, goal_id],
  )
}

/** Returns the newest event about shortening a conversation of the agent. */
export function lastCompaction(store: Store, agent_id: string): Promise<{ at: number; data: string } | undefined> {
  return store.get(
    "SELECT at, data FROM events_view WHERE agent_id = ? AND type = 'context_compacted' ORDER BY seq DESC LIMIT 1",
    [agent_id],
  )
}

export interface CallRow {
  call_id: string
  step: number
  tool: string
  arguments: string
  state: string
  output: string | null
  is_error: number | null
  approval_id: string | null
  started_at: number
  ended_at: number | null
}

/**
 * Returns the journal of a goal, newest first; strings are cut after `longest` characters. Steps are counted over the
 * goal: the journal counts them from 1 in each cycle.
 */
export function goalCalls(store: Store, goal_id: string, longest: number, limit: number, offset: number) {
  return store.all<CallRow>(
    `SELECT call_id, dense_rank() OVER (ORDER BY epoch, step) AS step, tool, substr(arguments, 1, ?) AS arguments, state, substr(outcome, 1, ?) AS output, is_error,
       approval_id, started_at, ended_at
     FROM tool_calls_view WHERE goal_id = ? ORDER BY started_at DESC, call_id DESC LIMIT ? OFFSET ?`,
    [longest, longest, goal_id, limit, offset],
  )
}

export function numberOfCalls(store: Store, goal_id: string): Promise<number> {
  return countRows(store, 'FROM tool_calls_view WHERE goal_id = ?', [goal_id])
}

/**
 * Returns whether tools may run for a goal: `later` while its agent is paused or the condition holds, `never` after its
 * end.
 * @param frozen SQL condition
 */
export async function mayRunTools(store: Store, goal_id: string, frozen: string): Promise<'now' | 'later' | 'never'> {
  const row = await store.get<{ waits: number | boolean }>(
    `SELECT a.paused_at IS NOT NULL OR ${frozen} AS waits FROM goals g JOIN agents_view a ON a.agent_id = g.agent_id
     WHERE g.goal_id = ? AND g.status = 'active' AND a.died_at IS NULL`,
    [goal_id],
  )
  return row === undefined ? 'never' : row.waits ? 'later' : 'now'
}

/** Makes a goal wait until its agent is woken. @param wakes the agent's wake counter, read before the decision to wait */
export const parkGoal = defineEffect({
  name: 'goals.park',
  schema: z.object({ goal_id: z.string(), wakes: z.int() }),
  statements: ({ goal_id, wakes }) => ({
    sql: 'UPDATE goals SET parked_wakes = ? WHERE goal_id = ?',
    params: [wakes, goal_id],
  }),
})

/** Ends the waiting of parked goals, because what they wait for ended with the daemon. */
export const unparkGoals = defineEffect({
  name: 'goals.unpark',
  schema: z.object({}),
  statements: () => ({ sql: 'UPDATE goals SET parked_wakes = NULL WHERE parked_wakes IS NOT NULL' }),
})

const Rows = z.array(z.object({ seq: z.int(), message: MessageSchema }))

/** Records a model's answer: the messages before it, its text and its calls. */
export const recordAnswer = defineEffect({
  name: 'goals.record_answer',
  schema: z.object({
    goal_id: z.string(),
    agent_id: z.string(),
    epoch: z.int(),
    rows: Rows,
    /** The kept messages besides the first one: those from the seq `from` on, and a summary. */
    kept: z.object({ from: z.int(), summary: z.int().nullable() }).nullable(),
    intents: z.array(CallIntent),
  }),
  statements: ({ goal_id, agent_id, epoch, rows, kept, intents }, now) => [
    {
      sql: "UPDATE goals SET steps_completed = steps_completed + 1, transcript_epoch = ? WHERE goal_id = ? AND status = 'active'",
      params: [epoch, goal_id],
    },
    ...(rows.length > 0 ? [append(goal_id, agent_id, rows, now)] : []),
    ...(kept === null
      ? []
      : [
          {
            sql: 'DELETE FROM goal_transcripts WHERE goal_id = ? AND seq < ? AND seq > 0 AND seq <> ?',
            params: [goal_id, kept.from, kept.summary ?? 0],
          },
        ]),
    ...intents.map(intent => insertCall({ agent_id, goal_id, epoch }, intent, now)),
  ],
})

export const { deferCalls, beginDeferredCall } = laterCalls('goals')

/** Records a summary of the conversation so far. */
export const recordSummary = defineEffect({
  name: 'goals.record_summary',
  schema: z.object({ goal_id: z.string(), agent_id: z.string(), epoch: z.int(), row: Rows.element }),
  statements: ({ goal_id, agent_id, epoch, row }, now) => [
    { sql: 'UPDATE goals SET transcript_epoch = ? WHERE goal_id = ?', params: [epoch, goal_id] },
    append(goal_id, agent_id, [row], now),
  ],
})

/** Records a tool's outcome in the journal and the transcript. */
export const recordOutcome = defineEffect({
  name: 'goals.record_outcome',
  schema: z.object({
    goal_id: z.string(),
    agent_id: z.string(),
    /** Set for a cycle's first write to the transcript, null for later ones. */
    epoch: z.int().nullable(),
    call_id: z.string(),
    row: Rows.element,
  }),
  statements: ({ goal_id, agent_id, epoch, call_id, row }, now) => [
    ...(epoch === null
      ? []
      : [{ sql: 'UPDATE goals SET transcript_epoch = ? WHERE goal_id = ?', params: [epoch, goal_id] }]),
    endCall(call_id, row.message, now),
    append(goal_id, agent_id, [row], now),
  ],
})

/** Appends messages to a transcript, unless the goal has ended in the meantime. */
function append(goal_id: string, agent_id: string, rows: z.output<typeof Rows>, now: number) {
  const values = rows.map((_, n) => (n === 0 ? 'SELECT ? AS seq, ? AS message' : 'UNION ALL SELECT ?, ?')).join(' ')
  return {
    sql: `INSERT INTO goal_transcripts (goal_id, seq, agent_id, message, created_at)
          SELECT ?, seq, ?, message, ? FROM (${values}) said
          WHERE EXISTS (SELECT 1 FROM goals WHERE goal_id = ? AND status = 'active')`,
    params: [goal_id, agent_id, now, ...rows.flatMap(({ seq, message }) => [seq, JSON.stringify(message)]), goal_id],
  }
}

export const GOAL_EFFECTS = [
  parkGoal,
  unparkGoals,
  insertGoal,
  keepMessages,
  setPriority,
  endGoal,
  markSubgoalsReported,
  endTranscript,
  dropTranscript,
  recordAnswer,
  recordSummary,
  recordOutcome,
  deferCalls,
  beginDeferredCall,
]
