import { agentNameOf } from '#core/agents/statements'
import { parkCall, startCall } from '#core/runtime/statements'
import { z } from '#kernel'
import { countRows, defineEffect, insertInto, isoTime, type Store, type Stored } from '#platform/store/contract'
import type { KeyedQuestion, Question } from './contract.ts'

interface QuestionRow
  extends Stored<
    Omit<Question, 'goal_id' | 'options' | 'default'>,
    'free_text' | 'default_at' | 'asked_at' | 'answered_at'
  > {
  /** Goal that waits for the answer; empty for a task's question. */
  goal_id: string
  /** JSON array of the options. */
  options: string
  default_answer: string | null
}

const QUESTIONS = `(SELECT q.*, CASE WHEN q.answered_at IS NOT NULL THEN 'answered' WHEN EXISTS (SELECT 1 FROM goals_view g
    JOIN agents_view a ON a.agent_id = g.agent_id WHERE g.goal_id = q.goal_id AND g.status = 'active' AND a.died_at IS NULL)
    OR EXISTS (SELECT 1 FROM task_runs_view t WHERE t.task_id = q.task_id AND t.ended_at IS NULL) THEN 'open' ELSE 'expired' END AS status FROM questions q)`
const COLUMNS = `question_id, agent_id, goal_id, task_id, question, options, free_text, default_answer, default_at, status, answer,
  answered_by, asked_at, answered_at, ${agentNameOf('asked.agent_id')} AS agent_name`
const SELECT = `SELECT ${COLUMNS} FROM ${QUESTIONS} asked`

export interface QuestionFilter {
  agent_id?: string | undefined
  status: Question['status'] | 'all'
}

/** Lists questions: open ones oldest first, like a queue; others newest first. */
export async function listQuestions(store: Store, filter: QuestionFilter, limit = -1, offset = 0): Promise<Question[]> {
  const { where, params } = conditionOf(filter)
  const way = filter.status === 'open' ? 'ASC' : 'DESC'
  const rows = await store.all<QuestionRow>(
    `${SELECT} ${where} ORDER BY asked_at ${way}, question_id ${way} LIMIT ? OFFSET ?`,
    [...params, limit, offset],
  )
  return rows.map(questionView)
}

export function numberOfQuestions(store: Store, filter: QuestionFilter): Promise<number> {
  const { where, params } = conditionOf(filter)
  return countRows(store, `FROM ${QUESTIONS} asked ${where}`, params)
}

function conditionOf({ agent_id, status }: QuestionFilter): { where: string; params: unknown[] } {
  const parts: [sql: string, param: unknown][] = []
  if (agent_id !== undefined) parts.push(['agent_id = ?', agent_id])
  if (status !== 'all') parts.push(['status = ?', status])
  const where = parts.length > 0 ? `WHERE ${parts.map(([sql]) => sql).join(' AND ')}` : ''
  return { where, params: parts.map(([, param]) => param) }
}

/** Returns whether the project has an agent with this id. */
export async function hasAgent(store: Store, agent_id: string): Promise<boolean> {
  return (await store.get('SELECT 1 FROM agents_view WHERE agent_id = ?', [agent_id])) !== undefined
}

export async function findQuestion(store: Store, question_id: string): Promise<Question | undefined> {
  const row = await store.get<QuestionRow>(`${SELECT} WHERE question_id = ?`, [question_id])
  return row && questionView(row)
}

/** Returns the question that a tool call asked. */
export async function questionOf(store: Store, call_id: string): Promise<Question | undefined> {
  const row = await store.get<QuestionRow>(`${SELECT} WHERE call_id = ?`, [call_id])
  return row && questionView(row)
}

/** Returns the questions of a task, oldest first. */
export async function questionsOfTask(store: Store, task_id: string): Promise<KeyedQuestion[]> {
  const rows = await store.all<QuestionRow & { answer_key: string | null }>(
    `SELECT ${COLUMNS}, answer_key FROM ${QUESTIONS} asked WHERE task_id = ? ORDER BY asked_at, question_id`,
    [task_id],
  )
  return rows.map(row => ({ ...questionView(row), answer_key: row.answer_key }))
}

/** Returns whether a question of the task was answered with this key. */
export async function taskAnswered(store: Store, task_id: string, key: string): Promise<boolean> {
  const sql = 'SELECT 1 AS found FROM questions WHERE task_id = ? AND answer_key = ? LIMIT 1'
  return (await store.get<{ found: number }>(sql, [task_id, key])) !== undefined
}

/** Returns the open questions whose default applies at this time. */
export async function overdueQuestions(store: Store, now: number): Promise<Question[]> {
  const rows = await store.all<QuestionRow>(
    `${SELECT} WHERE answered_at IS NULL AND default_at <= ? AND status = 'open' ORDER BY default_at, question_id`,
    [now],
  )
  return rows.map(questionView)
}

function questionView({
  goal_id,
  options,
  free_text,
  default_answer,
  default_at,
  asked_at,
  answered_at,
  ...row
}: QuestionRow): Question {
  return {
    ...row,
    goal_id: goal_id || null,
    options: z.array(z.string()).parse(JSON.parse(options)),
    free_text: free_text === 1,
    default: default_answer,
    default_at: isoTime(default_at),
    asked_at: isoTime(asked_at),
    answered_at: isoTime(answered_at),
  }
}

export const insertQuestion = defineEffect({
  name: 'questions.insert',
  mustChange: true,
  schema: z.object({
    question_id: z.string(),
    agent_id: z.string(),
    goal_id: z.string().nullable(),
    task_id: z.string().nullable(),
    call_id: z.string(),
    question: z.string(),
    options: z.array(z.string()),
    free_text: z.boolean(),
    default_answer: z.string().nullable(),
    /** Milliseconds after which the default applies. */
    default_after: z.int().nullable(),
  }),
  statements: ({ goal_id, options, default_after, ...row }, now) =>
    insertInto('questions', {
      ...row,
      goal_id: goal_id ?? '',
      options: JSON.stringify(options),
      default_at: default_after === null ? null : now + default_after,
      asked_at: now,
    }),
})

/** Parks a call of `ask_operator` until its question is answered. */
export const parkAskingCall = defineEffect({
  name: 'questions.park_call',
  mustChange: true,
  schema: z.object({ call_id: z.string() }),
  statements: ({ call_id }) => parkCall(call_id),
})

/** Records the start of a call whose question is answered, so that the journal has it before the tool runs. */
export const beginAskingCall = defineEffect({
  name: 'questions.begin_call',
  schema: z.object({ call_id: z.string() }),
  statements: ({ call_id }, now) => startCall(call_id, 'parked', now),
})

/** Answers an open question; refused when it is no longer open. */
export const answerQuestion = defineEffect({
  name: 'questions.answer',
  mustChange: true,
  schema: z.object({
    question_id: z.string(),
    answer: z.string(),
    answered_by: z.string().nullable(),
    answer_key: z.string().nullable(),
  }),
  statements: ({ question_id, answer, answered_by, answer_key }, now) => ({
    sql: `UPDATE questions SET answer = ?, answered_by = ?, answered_at = ?, answer_key = ?
          WHERE question_id = ? AND answered_at IS NULL
          AND (EXISTS (SELECT 1 FROM goals_view g WHERE g.goal_id = questions.goal_id AND g.status = 'active')
            OR EXISTS (SELECT 1 FROM task_runs_view t WHERE t.task_id = questions.task_id AND t.ended_at IS NULL))`,
    params: [answer, answered_by, now, answer_key, question_id],
  }),
})

/** Returns whether an agent has this id. */
export async function isAgent(store: Store, id: string): Promise<boolean> {
  return (await store.get('SELECT 1 FROM agents_view WHERE agent_id = ?', [id])) !== undefined
}
