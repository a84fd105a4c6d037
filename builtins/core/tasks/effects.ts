import { ImageRef, writeImages } from '#core/images/contract'
import { Message, ModelParameters } from '#core/models/contract'
import { CallIntent, endCall, insertCall, laterCalls } from '#core/runtime/statements'
import { Problem } from '#interfaces/rest/contract'
import { type Effect, z } from '#kernel'
import { defineEffect, insertIf, insertInto, type Statement } from '#platform/store/contract'
import { isWaiting, TASK_ENDS } from './contract.ts'
import type { MessageRow } from './run/transcript.ts'

/** Duration of a process's lease on a task, in milliseconds. */
const LEASE_MS = 15_000

const NewTask = z.object({
  task_id: z.string(),
  agent_id: z.string(),
  session_id: z.string(),
  user_id: z.string(),
  instruction: z.string(),
  images: z.array(ImageRef),
  max_steps: z.int(),
  response_schema: z.record(z.string(), z.unknown()).nullable(),
  parameters: ModelParameters.nullable(),
  toolkits: z.array(z.string()).nullable(),
  text: z.enum(['none', 'shown', 'suppressed']),
  may_ask: z.boolean(),
  request_id: z.string(),
  idempotency_key: z.string().nullable(),
  request_hash: z.string(),
  owner: z.string(),
})
export type NewTask = z.infer<typeof NewTask>

/** Inserts a task. Refused if the agent is gone or the key is taken. */
export const insertTask = defineEffect({
  name: 'tasks.insert',
  mustChange: true,
  schema: NewTask,
  statements: ({ images, response_schema, parameters, toolkits, ...row }, now) =>
    insertIf(
      'task_runs',
      {
        ...row,
        images: writeImages(images),
        response_schema: response_schema && JSON.stringify(response_schema),
        parameters: parameters && JSON.stringify(parameters),
        toolkits: toolkits && JSON.stringify(toolkits),
        detached: row.idempotency_key !== null,
        lease_until: now + LEASE_MS,
        created_at: now,
      },
      { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ? AND died_at IS NULL)', params: [row.agent_id] },
      'ON CONFLICT DO NOTHING',
    ),
})

const Hold = z.object({ task_id: z.string(), owner: z.string(), epoch: z.int() })

/**
 * First write in each transaction of a task's process. Refused, with the rest of the transaction, if another process
 * took over the task.
 */
export const holdTask = defineEffect({
  name: 'tasks.hold',
  mustChange: true,
  schema: Hold,
  statements: ({ task_id, owner, epoch }, now) => ({
    sql: "UPDATE task_runs SET lease_until = ? WHERE task_id = ? AND owner = ? AND epoch = ? AND status = 'running'",
    params: [now + LEASE_MS, task_id, owner, epoch],
  }),
})

/** Renews the leases on the tasks that a process runs. */
export const renewTasks = defineEffect({
  name: 'tasks.renew',
  schema: z.object({ owner: z.string(), task_ids: z.array(z.string()) }),
  statements: ({ owner, task_ids }, now) =>
    task_ids.map(task_id => ({
      sql: "UPDATE task_runs SET lease_until = ? WHERE task_id = ? AND owner = ? AND status = 'running'",
      params: [now + LEASE_MS, task_id, owner],
    })),
})

/**
 * Takes over a waiting task, or one whose lease expired. Refused if another process was first. The task is detached
 * from then on.
 */
export const takeTask = defineEffect({
  name: 'tasks.take',
  mustChange: true,
  schema: Hold,
  statements: ({ task_id, owner, epoch }, now) => ({
    sql: `UPDATE task_runs SET status = 'running', owner = ?, epoch = epoch + 1, lease_until = ?, detached = 1,
            interruptions = interruptions + CASE WHEN status = 'running' THEN 1 ELSE 0 END
          WHERE task_id = ? AND epoch = ?
            AND (status IN ('waiting_approval', 'waiting_answer') OR status = 'running' AND lease_until < ?)`,
    params: [owner, now + LEASE_MS, task_id, epoch, now],
  }),
})

/** Takes a task from its process in order to end it. Refused if its state has changed. */
export const seizeTask = defineEffect({
  name: 'tasks.seize',
  mustChange: true,
  schema: Hold,
  statements: ({ task_id, owner, epoch }, now) => ({
    sql: `UPDATE task_runs SET status = 'running', owner = ?, epoch = epoch + 1, lease_until = ?
          WHERE task_id = ? AND epoch = ? AND status IN ('running', 'waiting_approval', 'waiting_answer')`,
    params: [owner, now + LEASE_MS, task_id, epoch],
  }),
})

/** Releases a task for another process, which takes it over at its next check. */
export const releaseTask = defineEffect({
  name: 'tasks.release',
  schema: Hold,
  statements: ({ task_id, owner, epoch }) => ({
    sql: "UPDATE task_runs SET lease_until = 0 WHERE task_id = ? AND owner = ? AND epoch = ? AND status = 'running'",
    params: [task_id, owner, epoch],
  }),
})

const Row = z.object({ seq: z.int(), message: Message })

/** Usage of a model call. */
const Used = z.object({
  cost_micros: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
})

/** Records the model's answer: the messages it read and wrote, its planned calls, and its cost. */
export const recordAnswer = defineEffect({
  name: 'tasks.record_answer',
  schema: Used.extend({
    task_id: z.string(),
    agent_id: z.string(),
    epoch: z.int(),
    run_id: z.string().nullable(),
    rows: z.array(Row),
    intents: z.array(CallIntent),
  }),
  statements: ({ task_id, agent_id, epoch, run_id, rows, intents, ...used }, now) => [
    charge(task_id, used, 1),
    ...rows.map(row => append(task_id, row, now)),
    ...intents.map(intent => insertCall({ agent_id, task_id, epoch, run_id }, intent, now)),
  ],
})

export const { deferCalls, beginDeferredCall } = laterCalls('tasks')

/** Records a tool's outcome, in the journal and as a message. */
export const recordOutcome = defineEffect({
  name: 'tasks.record_outcome',
  schema: z.object({ task_id: z.string(), call_id: z.string(), row: Row }),
  statements: ({ task_id, call_id, row }, now) => [
    { sql: 'UPDATE task_runs SET tool_calls_made = tool_calls_made + 1 WHERE task_id = ?', params: [task_id] },
    endCall(call_id, row.message, now),
    append(task_id, row, now),
  ],
})

function append(task_id: string, { seq, message }: MessageRow, now: number): Statement {
  return insertInto('task_messages', { task_id, seq, message: JSON.stringify(message), created_at: now })
}

/** Adds the cost of a model call without an answer to the task. */
export const chargeTask = defineEffect({
  name: 'tasks.charge',
  schema: Used.extend({ task_id: z.string() }),
  statements: ({ task_id, ...used }) => charge(task_id, used, 0),
})

function charge(task_id: string, { cost_micros, input_tokens, output_tokens }: z.infer<typeof Used>, steps: number) {
  return {
    sql: `UPDATE task_runs SET cost_micros = cost_micros + ?, input_tokens = input_tokens + ?,
          output_tokens = output_tokens + ?, steps_taken = steps_taken + ? WHERE task_id = ?`,
    params: [cost_micros, input_tokens, output_tokens, steps, task_id],
  }
}

/**
 * Records shown text, only for the process that holds the task. A reset is stored as an empty text that replaces all
 * text before it.
 */
export const recordText = defineEffect({
  name: 'tasks.record_text',
  schema: Hold.extend({ until: z.int(), text: z.string(), reset: z.int().optional() }),
  statements: ({ task_id, owner, epoch, until, text, reset }) => {
    const held = {
      where: 'EXISTS (SELECT 1 FROM task_runs WHERE task_id = ? AND owner = ? AND epoch = ?)',
      params: [task_id, owner, epoch],
    }
    const insert = (place: number, words: string) =>
      insertIf('task_texts', { task_id, until: place, text: words }, held, 'ON CONFLICT DO NOTHING')
    const before = `DELETE FROM task_texts WHERE task_id = ? AND until < ? AND ${held.where}`
    return [
      ...(reset === undefined ? [] : [{ sql: before, params: [task_id, reset, ...held.params] }, insert(reset, '')]),
      ...(text === '' ? [] : [insert(until, text)]),
    ]
  },
})

/** Records a summary of the earlier messages, or a failed attempt at one, and adds its cost to the task. */
export const recordSummary = defineEffect({
  name: 'tasks.record_summary',
  schema: Used.extend({ task_id: z.string(), row: Row.nullable() }),
  statements: ({ task_id, row, ...used }, now) => [
    charge(task_id, used, 0),
    ...(row ? [append(task_id, row, now)] : []),
  ],
})

/** Records the last messages of a task. Their cost is part of `endTask`. */
export const recordWords = defineEffect({
  name: 'tasks.record_words',
  schema: z.object({ task_id: z.string(), rows: z.array(Row) }),
  statements: ({ task_id, rows }, now) => rows.map(row => append(task_id, row, now)),
})

/**
 * Ends a task or marks it as waiting, and adds the cost of its last step. Refused, with the whole transaction, if
 * another process holds it.
 */
export const endTask = defineEffect({
  name: 'tasks.end',
  mustChange: true,
  schema: Hold.extend({
    ...Used.shape,
    steps: z.int(),
    status: z.enum(TASK_ENDS),
    output: z.string(),
    parsed: z.record(z.string(), z.unknown()).nullable(),
    error: Problem.nullable(),
    approval_ids: z.array(z.string()),
    question_ids: z.array(z.string()),
    duration_ms: z.number(),
  }),
  statements: ({ task_id, owner, epoch, status, output, parsed, error, duration_ms, ...more }, now) => ({
    sql: `UPDATE task_runs SET status = ?, output = ?, parsed = ?, error = ?, approval_ids = ?, question_ids = ?,
            duration_ms = duration_ms + ?,
            cost_micros = cost_micros + ?, input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
            steps_taken = steps_taken + ?, ended_at = ?, lease_until = 0
          WHERE task_id = ? AND owner = ? AND epoch = ? AND status = 'running'`,
    params: [
      status,
      output,
      parsed && JSON.stringify(parsed),
      error && JSON.stringify(error),
      JSON.stringify(more.approval_ids),
      JSON.stringify(more.question_ids),
      Math.round(duration_ms),
      more.cost_micros,
      more.input_tokens,
      more.output_tokens,
      more.steps,
      isWaiting(status) ? null : now,
      task_id,
      owner,
      epoch,
    ],
  }),
})

/** Returns the write that fails a task, by the process that took it from another one. */
export function failedTask(
  task: z.infer<typeof Hold> & { output: string; error: z.infer<typeof Problem>; duration_ms: number },
): Effect {
  const nothing = { cost_micros: 0, input_tokens: 0, output_tokens: 0, steps: 0 }
  return endTask({ ...task, ...nothing, status: 'failed', parsed: null, approval_ids: [], question_ids: [] })
}

export const TASK_EFFECTS = [
  insertTask,
  holdTask,
  renewTasks,
  takeTask,
  seizeTask,
  releaseTask,
  recordAnswer,
  recordOutcome,
  recordSummary,
  recordWords,
  chargeTask,
  recordText,
  endTask,
  deferCalls,
  beginDeferredCall,
]
