import { z } from '#kernel'
import type { Message } from '../models/contract.ts'
import { Message as MessageSchema } from '../models/contract.ts'
import { defineEffect, type Store } from '../store/contract.ts'
import type { GoalRow } from './contract.ts'

const COLUMNS = `goal_id, agent_id, objective, status, priority, origin, parent_goal_id, reasoning, result, unconfirmed,
  steps_completed, created_at, completed_at`

/** The goal to pursue: highest priority first, then the oldest. */
export function activeGoal(store: Store, agent_id: string): Promise<GoalRow | undefined> {
  return store.get<GoalRow>(
    `SELECT ${COLUMNS} FROM goals WHERE agent_id = ? AND status = 'active' ORDER BY priority DESC, created_at, goal_id LIMIT 1`,
    [agent_id],
  )
}

export function findGoal(store: Store, goal_id: string): Promise<GoalRow | undefined> {
  return store.get<GoalRow>(`SELECT ${COLUMNS} FROM goals WHERE goal_id = ?`, [goal_id])
}

/** Newest first. */
export function listGoals(store: Store, agent_id: string, limit = -1): Promise<GoalRow[]> {
  return store.all<GoalRow>(
    `SELECT ${COLUMNS} FROM goals WHERE agent_id = ? ORDER BY created_at DESC, goal_id DESC LIMIT ?`,
    [agent_id, limit],
  )
}

export function allActiveGoals(store: Store): Promise<{ goal_id: string; agent_id: string }[]> {
  return store.all("SELECT goal_id, agent_id FROM goals WHERE status = 'active'")
}

/** An agent has at most one active generated goal: refused when there is one. */
export const insertGoal = defineEffect({
  name: 'goals.insert',
  mustChange: true,
  schema: z.object({
    goal_id: z.string(),
    agent_id: z.string(),
    objective: z.string(),
    priority: z.number().int(),
    origin: z.string(),
    reasoning: z.string().nullable(),
  }),
  statements: (goal, now) => [
    {
      sql: `INSERT INTO goals (goal_id, agent_id, objective, priority, origin, reasoning, created_at)
            SELECT ?, ?, ?, ?, ?, ?, ? WHERE ? <> 'generated' OR NOT EXISTS
            (SELECT 1 FROM goals WHERE agent_id = ? AND status = 'active' AND origin = 'generated')`,
      params: [
        ...[goal.goal_id, goal.agent_id, goal.objective, goal.priority, goal.origin, goal.reasoning, now],
        ...[goal.origin, goal.agent_id],
      ],
    },
  ],
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
  statements: ({ goal_id, status, result, unconfirmed }, now) => [
    {
      sql: "UPDATE goals SET status = ?, result = ?, unconfirmed = ?, completed_at = ? WHERE goal_id = ? AND status = 'active'",
      params: [status, result, unconfirmed, now, goal_id],
    },
  ],
})

export const dropTranscript = defineEffect({
  name: 'goals.drop_transcript',
  schema: z.object({ goal_id: z.string() }),
  statements: ({ goal_id }) => [{ sql: 'DELETE FROM pursuit_transcripts WHERE goal_id = ?', params: [goal_id] }],
})

export interface TranscriptRow {
  seq: number
  message: Message
}

export async function loadTranscript(store: Store, goal_id: string): Promise<TranscriptRow[]> {
  const rows = await store.all<{ seq: number; message: string }>(
    'SELECT seq, message FROM pursuit_transcripts WHERE goal_id = ? ORDER BY seq',
    [goal_id],
  )
  return rows.map(({ seq, message }) => ({ seq, message: JSON.parse(message) as Message }))
}

/** The journal's ids of this goal's calls whose outcome was never written, by the id that the model knows. */
export async function unansweredCalls(store: Store, goal_id: string): Promise<Map<string, string>> {
  const rows = await store.all<{ model_call_id: string; call_id: string }>(
    "SELECT model_call_id, call_id FROM tool_calls WHERE goal_id = ? AND state = 'started' ORDER BY started_at",
    [goal_id],
  )
  return new Map(rows.map(row => [row.model_call_id, row.call_id]))
}

const Rows = z.array(z.object({ seq: z.number().int(), message: MessageSchema }))

/** The model's answer: what it heard and said, and what it is about to do. */
export const recordAnswer = defineEffect({
  name: 'goals.record_answer',
  schema: z.object({
    goal_id: z.string(),
    agent_id: z.string(),
    epoch: z.number().int(),
    rows: Rows,
    /** Messages of a lower seq are no longer kept. */
    keep_from: z.number().int().nullable(),
    intents: z.array(
      z.object({
        call_id: z.string(),
        id: z.string(),
        name: z.string(),
        arguments: z.unknown(),
        args_hash: z.string(),
        step: z.number(),
      }),
    ),
  }),
  statements: ({ goal_id, agent_id, epoch, rows, keep_from, intents }, now) => [
    {
      sql: "UPDATE goals SET steps_completed = steps_completed + 1 WHERE goal_id = ? AND status = 'active'",
      params: [goal_id],
    },
    ...rows.map(row => append(goal_id, agent_id, row, now)),
    ...(keep_from === null
      ? []
      : [
          {
            sql: 'DELETE FROM pursuit_transcripts WHERE goal_id = ? AND seq < ? AND seq > 0',
            params: [goal_id, keep_from],
          },
        ]),
    ...intents.map(intent => ({
      sql: `INSERT INTO tool_calls (call_id, model_call_id, agent_id, goal_id, epoch, step, tool, arguments, args_hash, started_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      params: [
        ...[intent.call_id, intent.id, agent_id, goal_id, epoch, intent.step, intent.name],
        ...[JSON.stringify(intent.arguments) ?? 'null', intent.args_hash, now],
      ],
    })),
  ],
})

/** A tool's outcome, in the journal and in the transcript. */
export const recordOutcome = defineEffect({
  name: 'goals.record_outcome',
  schema: z.object({ goal_id: z.string(), agent_id: z.string(), call_id: z.string(), row: Rows.element }),
  statements: ({ goal_id, agent_id, call_id, row }, now) => [
    {
      sql: "UPDATE tool_calls SET state = 'done', outcome = ?, is_error = ?, ended_at = ? WHERE call_id = ?",
      params: [row.message.content, row.message.is_error ?? false, now, call_id],
    },
    append(goal_id, agent_id, row, now),
  ],
})

function append(goal_id: string, agent_id: string, { seq, message }: z.output<typeof Rows.element>, now: number) {
  return {
    sql: 'INSERT INTO pursuit_transcripts (goal_id, seq, agent_id, message, created_at) VALUES (?, ?, ?, ?, ?)',
    params: [goal_id, seq, agent_id, JSON.stringify(message), now],
  }
}

/** What a model call cost. Booked even when the cycle lost its lease (the model was paid), and once, however often it is written. */
export const bookSpend = defineEffect({
  name: 'spend.book',
  always: true,
  schema: z.object({
    call_id: z.string(),
    agent_id: z.string(),
    goal_id: z.string().nullable(),
    kind: z.string(),
    model: z.string(),
    cost_micros: z.number().int().min(0),
    input_tokens: z.number().int().min(0),
    output_tokens: z.number().int().min(0),
    priced: z.string(),
    estimated: z.boolean(),
    attempts: z.number().int(),
    duration_ms: z.number(),
  }),
  statements: (spend, now) => [
    {
      sql: `INSERT INTO spend (call_id, agent_id, goal_id, kind, model, cost_micros, input_tokens, output_tokens, priced, estimated,
              attempts, duration_ms, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (call_id) DO NOTHING`,
      params: [
        ...[
          spend.call_id,
          spend.agent_id,
          spend.goal_id,
          spend.kind,
          spend.model,
          spend.cost_micros,
          spend.input_tokens,
        ],
        ...[spend.output_tokens, spend.priced, spend.estimated, spend.attempts, Math.round(spend.duration_ms), now],
      ],
    },
  ],
})

export const GOAL_EFFECTS = [insertGoal, endGoal, dropTranscript, recordAnswer, recordOutcome, bookSpend]
