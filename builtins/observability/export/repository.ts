import { AMONG, jsonList, type Store } from '#platform/store/contract'

/** Maximum length of a text, in characters; the query already cuts longer ones. */
export const LONGEST_TEXT = 8_000
/** Number of newest goals and agents whose transcripts are searched. */
const RECENT = 500

export interface GoalRow {
  goal_id: string
  reasoning: string | null
  result: string | null
}

/** Returns what is known of goals whose agents still exist. */
export function goalsOf(store: Store, ids: readonly string[]): Promise<GoalRow[]> {
  return store.all<GoalRow>(`SELECT goal_id, reasoning, result FROM goals_view WHERE goal_id ${AMONG}`, [jsonList(ids)])
}

export interface CallRow {
  call_id: string
  arguments: string
  outcome: string | null
}

/** Returns arguments and results of tool calls, at greater length than the log has them. */
export function callsOf(store: Store, ids: readonly string[]): Promise<CallRow[]> {
  const columns = `call_id, substr(arguments, 1, ${LONGEST_TEXT}) AS arguments, substr(outcome, 1, ${LONGEST_TEXT}) AS outcome`
  return store.all<CallRow>(`SELECT ${columns} FROM tool_calls_view WHERE call_id ${AMONG}`, [jsonList(ids)])
}

export interface SaidRow {
  /** ID of the goal or task of the message. */
  about: string
  message: string
  at: number
}

/** Returns the transcripts of these goals: the newest `limit` messages, oldest first. */
export async function goalTalk(store: Store, ids: readonly string[], from: number, to: number, limit: number) {
  const rows = await store.all<SaidRow>(
    `SELECT goal_id AS about, message, created_at AS at
     FROM (SELECT goal_id, seq, message, created_at FROM pursuit_transcripts_view
       UNION ALL SELECT goal_id, seq, message, created_at FROM ended_transcripts_view) said
     WHERE goal_id ${AMONG} AND created_at BETWEEN ? AND ?
     ORDER BY created_at DESC, goal_id, seq DESC LIMIT ?`,
    [jsonList(ids.slice(-RECENT)), from, to, limit],
  )
  return rows.reverse()
}

export async function taskTalk(store: Store, task_id: string, limit: number): Promise<SaidRow[]> {
  const rows = await store.all<SaidRow>(
    'SELECT task_id AS about, message, created_at AS at FROM task_messages_view WHERE task_id = ? ORDER BY seq DESC LIMIT ?',
    [task_id, limit],
  )
  return rows.reverse()
}

export interface TaskRow {
  task_id: string
  instruction: string
  output: string
  status: string
}

export function findTask(store: Store, task_id: string): Promise<TaskRow | undefined> {
  return store.get<TaskRow>(
    `SELECT task_id, substr(instruction, 1, ${LONGEST_TEXT}) AS instruction, substr(output, 1, ${LONGEST_TEXT}) AS output, status
     FROM task_runs_view WHERE task_id = ?`,
    [task_id],
  )
}

export interface MailRow {
  type: string
  from_agent: string
  to_agent: string | null
  subject: string
  body: string
  at: number
}

/** Returns the messages between agents during a run: the newest `limit`, oldest first. */
export async function mailOf(store: Store, agents: readonly string[], from: number, to: number, limit: number) {
  const some = jsonList(agents.slice(-RECENT))
  const rows = await store.all<MailRow>(
    `SELECT type, from_agent, to_agent, subject, substr(body, 1, ${LONGEST_TEXT}) AS body, created_at AS at FROM a2a_messages_view
     WHERE created_at BETWEEN ? AND ? AND (from_agent ${AMONG} OR to_agent ${AMONG})
     ORDER BY seq DESC LIMIT ?`,
    [from, to, some, some, limit],
  )
  return rows.reverse()
}
