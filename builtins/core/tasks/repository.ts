import { writeImages } from '#core/images/contract'
import type { Message } from '#core/models/contract'
import { allOf, type Condition, countRows, listColumn, type Store, type Stored } from '#platform/store/contract'
import type { Task } from './contract.ts'
import type { NewTask } from './effects.ts'
import { ANSWERED_LATE, type Exchange } from './run/prompt.ts'
import type { Piece } from './run/text.ts'
import type { MessageRow } from './run/transcript.ts'

/** Which text of a task is streamed: none requested, all, or suppressed because guardrails are on. */
export type TextMode = 'none' | 'shown' | 'suppressed'

export interface TaskRow
  extends Stored<Omit<NewTask, 'images' | 'response_schema' | 'parameters' | 'toolkits'>, 'may_ask'>,
    Pick<Task, 'status' | 'output' | 'steps_taken' | 'tool_calls_made' | 'duration_ms'> {
  /** JSON. */
  images: string | null
  /** JSON Schema of the answer, as JSON. */
  response_schema: string | null
  /** Model parameters, as JSON. */
  parameters: string | null
  /** Names of the toolkits that were given, as JSON. */
  toolkits: string | null
  /** The parsed answer, as JSON. */
  parsed: string | null
  /** A problem document as JSON. */
  error: string | null
  /** JSON. */
  approval_ids: string
  /** JSON. */
  question_ids: string
  cost_micros: number
  input_tokens: number
  output_tokens: number
  /** Whether the task continues when its client disconnects, and in another process when this one ends. */
  detached: number
  /** Number of times that the task's process was lost. */
  interruptions: number
  epoch: number
  lease_until: number
  created_at: number
  ended_at: number | null
}

/** Returns the row of a task just inserted. Its `created_at` may differ slightly from the stored one. */
export function newRow(task: NewTask, now: number): TaskRow {
  const { images, response_schema, parameters, toolkits, idempotency_key } = task
  return {
    ...task,
    status: 'running',
    output: '',
    parsed: null,
    error: null,
    approval_ids: '[]',
    question_ids: '[]',
    steps_taken: 0,
    tool_calls_made: 0,
    cost_micros: 0,
    input_tokens: 0,
    output_tokens: 0,
    duration_ms: 0,
    interruptions: 0,
    epoch: 1,
    lease_until: now,
    created_at: now,
    ended_at: null,
    images: writeImages(images),
    response_schema: response_schema && JSON.stringify(response_schema),
    parameters: parameters && JSON.stringify(parameters),
    toolkits: toolkits && JSON.stringify(toolkits),
    may_ask: Number(task.may_ask),
    detached: Number(idempotency_key !== null),
  }
}

export function findTask(store: Store, task_id: string): Promise<TaskRow | undefined> {
  return store.get<TaskRow>('SELECT * FROM task_runs WHERE task_id = ?', [task_id])
}

export function findByKey(
  store: Store,
  { user_id, agent_id, key }: { user_id: string; agent_id: string; key: string },
) {
  return store.get<TaskRow>('SELECT * FROM task_runs WHERE user_id = ? AND agent_id = ? AND idempotency_key = ?', [
    user_id,
    agent_id,
    key,
  ])
}

/** Lists tasks, newest first. */
export interface TaskFilter {
  agent_id: string
  user_id: string
  /** Selects the tasks of all other users instead. */
  of_others?: boolean
  session_id?: string | undefined
}

export function listTasks(
  store: Store,
  filter: TaskFilter,
  { limit = -1, offset = 0 }: { limit?: number | undefined; offset?: number },
): Promise<TaskRow[]> {
  const { where, params } = condition(filter)
  return store.all<TaskRow>(
    `SELECT * FROM task_runs WHERE ${where} ORDER BY created_at DESC, task_id DESC LIMIT ? OFFSET ?`,
    [...params, limit, offset],
  )
}

export function countTasks(store: Store, filter: TaskFilter): Promise<number> {
  const { where, params } = condition(filter)
  return countRows(store, `FROM task_runs WHERE ${where}`, params)
}

function condition({ agent_id, user_id, of_others = false, session_id }: TaskFilter): Condition {
  const parts: Condition[] = [
    { where: `agent_id = ? AND user_id ${of_others ? '<>' : '='} ?`, params: [agent_id, user_id] },
  ]
  if (session_id !== undefined) parts.push({ where: 'session_id = ?', params: [session_id] })
  return allOf(parts)
}

/** Code of the error of a task whose instruction guardrails blocked. */
const BLOCKED = 'guardrail_blocked'

/** A task as a part of its session's conversation. */
export type TaskExchange = Exchange & Pick<TaskRow, 'task_id' | 'created_at'>

/** Returns the session's tasks that began before this one, newest first, without records of their calls. */
export async function earlierExchanges(store: Store, { session_id, task_id, created_at }: TaskRow, limit: number) {
  return exchanges(
    store,
    'session_id = ? AND task_id <> ? AND created_at <= ?',
    [session_id, task_id, created_at],
    limit,
  )
}

/** Returns the session's tasks that began after a time, as `earlierExchanges` does. @param since in milliseconds */
export function laterExchanges(store: Store, { session_id, task_id }: TaskRow, since: number, limit: number) {
  return exchanges(store, 'session_id = ? AND task_id <> ? AND created_at > ?', [session_id, task_id, since], limit)
}

async function exchanges(store: Store, where: string, params: Condition['params'], limit: number) {
  const rows = await store.all<TaskExchange & Pick<TaskRow, 'status' | 'error' | 'ended_at'>>(
    `SELECT task_id, instruction, images, output, status, error, created_at, ended_at FROM task_runs
     WHERE ${where} ORDER BY created_at DESC, task_id DESC LIMIT ?`,
    [...params, limit],
  )
  return rows.flatMap(({ status, error, ended_at, ...row }, n): TaskExchange[] => {
    const { code, detail } = (error === null ? {} : JSON.parse(error)) as { code?: string; detail?: string }
    // No model may read what guardrails blocked.
    if (code === BLOCKED) return []
    const isLate = ended_at !== null && ended_at > (rows[n - 1]?.created_at ?? ended_at)
    return [
      { ...row, stop: status === 'completed' ? (isLate ? ANSWERED_LATE : null) : (code ?? status), error: detail },
    ]
  })
}

/** A tool call of an earlier task, with the beginnings of its arguments and its outcome. */
export interface RememberedCall {
  tool: string
  /** JSON. */
  args: string
  state: string
  is_error: number | boolean | null
  outcome: string | null
  /** Length of the whole outcome, in characters. */
  chars: number
  /** Number of calls of the task. */
  calls: number
}

/** Maximum number of calls that are remembered of a task. */
const REMEMBERED_CALLS = 20
/** Number of characters remembered of a call's arguments, and of its outcome. */
const ARGUMENT_CHARS = 300
const OUTCOME_CHARS = 500

/** Returns the newest calls of each of the tasks, oldest first. */
export async function callsOf(store: Store, task_ids: readonly string[]): Promise<Map<string, RememberedCall[]>> {
  const marks = task_ids.map(() => '?').join(', ')
  // Ids end with the number of the call in its answer, so a longer id is a later call.
  const newest = 'epoch DESC, step DESC, length(call_id) DESC, call_id DESC'
  const rows = await store.all<RememberedCall & { task_id: string }>(
    `SELECT * FROM (SELECT task_id, tool, substr(arguments, 1, ${ARGUMENT_CHARS}) AS args, state, is_error,
       substr(outcome, 1, ${OUTCOME_CHARS}) AS outcome, coalesce(length(outcome), 0) AS chars,
       count(*) OVER (PARTITION BY task_id) AS calls,
       row_number() OVER (PARTITION BY task_id ORDER BY ${newest}) AS place
     FROM tool_calls_view WHERE task_id IN (${marks})) c
     WHERE place <= ${REMEMBERED_CALLS} ORDER BY task_id, place DESC`,
    task_ids,
  )
  const calls = new Map<string, RememberedCall[]>()
  for (const { task_id, ...call } of rows) calls.set(task_id, [...(calls.get(task_id) ?? []), call])
  return calls
}

/** Returns the newest summary in each of the tasks, with the number of messages before it. */
export async function summariesIn(store: Store, task_ids: readonly string[]) {
  const marks = task_ids.map(() => '?').join(', ')
  const rows = await store.all<{ task_id: string; message: string; before: number }>(
    `SELECT task_id, message, (SELECT count(*) FROM task_messages b WHERE b.task_id = m.task_id AND b.seq < m.seq) AS before
     FROM task_messages m WHERE task_id IN (${marks}) AND message LIKE '%"summary":{"keeps"%' ORDER BY task_id, seq`,
    task_ids,
  )
  return new Map(rows.map(({ task_id, message, before }) => [task_id, { ...(JSON.parse(message) as Message), before }]))
}

export async function loadMessages(store: Store, task_id: string): Promise<MessageRow[]> {
  const rows = await store.all<{ seq: number; message: string }>(
    'SELECT seq, message FROM task_messages WHERE task_id = ? ORDER BY seq',
    [task_id],
  )
  return rows.map(({ seq, message }) => ({ seq, message: JSON.parse(message) as Message }))
}

/** The messages of all tasks of a session, in their order. */
export async function sessionMessages(store: Store, session_id: string, limit = -1, offset = 0) {
  const rows = await store.all<{ task_id: string; message: string; created_at: number }>(
    `SELECT m.task_id, m.message, m.created_at FROM task_runs t JOIN task_messages m ON m.task_id = t.task_id
     WHERE t.session_id = ? ORDER BY t.created_at, t.task_id, m.seq LIMIT ? OFFSET ?`,
    [session_id, limit, offset],
  )
  return rows.map(({ message, ...row }) => ({ ...row, message: JSON.parse(message) as Message }))
}

export function countMessages(store: Store, session_id: string): Promise<number> {
  return countRows(store, 'FROM task_runs t JOIN task_messages m ON m.task_id = t.task_id WHERE t.session_id = ?', [
    session_id,
  ])
}

/**
 * Returns the next piece of text after a position. `until` is the position after it, in UTF-16 units. Empty text is a
 * reset.
 */
export function textAfter(store: Store, task_id: string, place: number) {
  return store.get<Piece>('SELECT until, text FROM task_texts WHERE task_id = ? AND until > ? ORDER BY until LIMIT 1', [
    task_id,
    place,
  ])
}

/** Returns the stored text since the last reset. */
export async function shownText(store: Store, task_id: string): Promise<Piece> {
  const rows = await store.all<Piece>('SELECT until, text FROM task_texts WHERE task_id = ? ORDER BY until', [task_id])
  return { until: rows.at(-1)?.until ?? 0, text: rows.map(({ text }) => text).join('') }
}

/**
 * Same expression as in the partial index of open tasks: with another one the index is not used and all tasks are
 * scanned.
 */
const OPEN = "status IN ('running', 'waiting_approval', 'waiting_answer')"

/** Returns tasks whose lease has expired. */
export function lostTasks(store: Store, now: number): Promise<TaskRow[]> {
  return store.all<TaskRow>(`SELECT * FROM task_runs WHERE ${OPEN} AND status = 'running' AND lease_until < ?`, [now])
}

/** Returns the open tasks of a session. */
export function openTasks(store: Store, session_id: string): Promise<string[]> {
  return listColumn(
    store,
    `SELECT task_id FROM task_runs WHERE ${OPEN} AND session_id = ? ORDER BY created_at, task_id`,
    [session_id],
  )
}

/** Returns waiting tasks whose decisions and answers are all given; of all tasks, or for this one. */
export async function findDecidedTasks(store: Store, task_id?: string): Promise<string[]> {
  const waiting = await store.all<Pick<TaskRow, 'task_id' | 'approval_ids' | 'question_ids'>>(
    `SELECT task_id, approval_ids, question_ids FROM task_runs WHERE ${OPEN} AND status <> 'running'
     AND (? IS NULL OR task_id = ?)`,
    [task_id, task_id],
  )
  if (waiting.length === 0) return []
  const rows = await store.all<{ id: string }>(
    `SELECT approval_id AS id FROM approvals_view WHERE status = 'pending' UNION ALL
     SELECT question_id AS id FROM questions_view WHERE answered_at IS NULL`,
  )
  const pending = new Set(rows.map(({ id }) => id))
  const isPending = (ids: string) => (JSON.parse(ids) as string[]).some(id => pending.has(id))
  return waiting
    .filter(({ approval_ids, question_ids }) => !isPending(approval_ids) && !isPending(question_ids))
    .map(({ task_id }) => task_id)
}
