import { z } from '#kernel'
import { Message } from '../models/contract.ts'
import { Problem } from '../rest/contract.ts'
import { defineEffect, type Statement } from '../store/contract.ts'
import { TASK_ENDS } from './contract.ts'
import type { MessageRow } from './repository.ts'

/** How long a task belongs to its process without a sign of life, in milliseconds. */
const LEASE_MS = 15_000

/** Refused when the agent is gone, or the key is taken. */
export const insertTask = defineEffect({
  name: 'tasks.insert',
  mustChange: true,
  schema: z.object({
    task_id: z.string(),
    agent_id: z.string(),
    session_id: z.string(),
    user_id: z.string(),
    instruction: z.string(),
    max_steps: z.number().int(),
    response_schema: z.record(z.string(), z.unknown()).nullable(),
    text: z.enum(['none', 'shown', 'suppressed']),
    request_id: z.string(),
    idempotency_key: z.string().nullable(),
    request_hash: z.string(),
    owner: z.string(),
  }),
  statements: (task, now) => [
    {
      sql: `INSERT INTO task_runs (task_id, agent_id, session_id, user_id, instruction, max_steps, text, request_id,
              response_schema, idempotency_key, request_hash, detached, owner, lease_until, created_at)
            SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS
            (SELECT 1 FROM agents WHERE agent_id = ? AND died_at IS NULL) ON CONFLICT DO NOTHING`,
      params: [
        ...[task.task_id, task.agent_id, task.session_id, task.user_id, task.instruction, task.max_steps, task.text],
        ...[
          task.request_id,
          task.response_schema && JSON.stringify(task.response_schema),
          task.idempotency_key,
          task.request_hash,
          task.idempotency_key !== null,
          task.owner,
        ],
        ...[now + LEASE_MS, now, task.agent_id],
      ],
    },
  ],
})

const Hold = z.object({ task_id: z.string(), owner: z.string(), epoch: z.number().int() })

/** Stands first in each write of a run: refused, with all that follows, when another process has taken over. */
export const holdTask = defineEffect({
  name: 'tasks.hold',
  mustChange: true,
  schema: Hold,
  statements: ({ task_id, owner, epoch }, now) => [
    {
      sql: "UPDATE task_runs SET lease_until = ? WHERE task_id = ? AND owner = ? AND epoch = ? AND status = 'running'",
      params: [now + LEASE_MS, task_id, owner, epoch],
    },
  ],
})

/** A sign of life for the tasks that a process runs. */
export const renewTasks = defineEffect({
  name: 'tasks.renew',
  schema: z.object({ owner: z.string(), task_ids: z.array(z.string()) }),
  statements: ({ owner, task_ids }, now) =>
    task_ids.map(task_id => ({
      sql: "UPDATE task_runs SET lease_until = ? WHERE task_id = ? AND owner = ? AND status = 'running'",
      params: [now + LEASE_MS, task_id, owner],
    })),
})

/** Takes up a task that nobody works on, as it was seen: refused when somebody else was first. It is detached from then on. */
export const takeTask = defineEffect({
  name: 'tasks.take',
  mustChange: true,
  schema: Hold,
  statements: ({ task_id, owner, epoch }, now) => [
    {
      sql: `UPDATE task_runs SET status = 'running', owner = ?, epoch = epoch + 1, lease_until = ?, detached = 1,
              interruptions = interruptions + CASE WHEN status = 'running' THEN 1 ELSE 0 END
            WHERE task_id = ? AND epoch = ? AND (status = 'waiting_approval' OR status = 'running' AND lease_until < ?)`,
      params: [owner, now + LEASE_MS, task_id, epoch, now],
    },
  ],
})

/** Takes a task away from whoever works on it, so that it can be ended: refused when it is not as it was seen. */
export const seizeTask = defineEffect({
  name: 'tasks.seize',
  mustChange: true,
  schema: Hold,
  statements: ({ task_id, owner, epoch }, now) => [
    {
      sql: `UPDATE task_runs SET status = 'running', owner = ?, epoch = epoch + 1, lease_until = ?
            WHERE task_id = ? AND epoch = ? AND status IN ('running', 'waiting_approval')`,
      params: [owner, now + LEASE_MS, task_id, epoch],
    },
  ],
})

/** Gives a task back that goes on elsewhere; whoever looks next takes it up. */
export const releaseTask = defineEffect({
  name: 'tasks.release',
  schema: Hold,
  statements: ({ task_id, owner, epoch }) => [
    {
      sql: "UPDATE task_runs SET lease_until = 0 WHERE task_id = ? AND owner = ? AND epoch = ? AND status = 'running'",
      params: [task_id, owner, epoch],
    },
  ],
})

const Row = z.object({ seq: z.number().int(), message: Message })

/** The model's answer: what it heard and said, what it is about to do, and what it cost. */
export const recordAnswer = defineEffect({
  name: 'tasks.record_answer',
  schema: z.object({
    task_id: z.string(),
    agent_id: z.string(),
    epoch: z.number().int(),
    run_id: z.string().nullable(),
    rows: z.array(Row),
    intents: z.array(
      z.object({
        call_id: z.string(),
        id: z.string(),
        name: z.string(),
        arguments: z.unknown(),
        args_hash: z.string(),
        step: z.number(),
        /** `planned`: the gate has not let it yet. */
        state: z.enum(['started', 'planned']),
      }),
    ),
  }),
  statements: ({ task_id, agent_id, epoch, run_id, rows, intents }, now) => [
    { sql: 'UPDATE task_runs SET steps_taken = steps_taken + 1 WHERE task_id = ?', params: [task_id] },
    ...rows.map(row => append(task_id, row, now)),
    ...intents.map(intent => ({
      sql: `INSERT INTO tool_calls (call_id, model_call_id, agent_id, task_id, epoch, step, tool, arguments, args_hash, state,
              run_id, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      params: [
        ...[intent.call_id, intent.id, agent_id, task_id, epoch, intent.step, intent.name],
        ...[JSON.stringify(intent.arguments) ?? 'null', intent.args_hash, intent.state, run_id, now],
      ],
    })),
  ],
})

/** A tool's outcome, in the journal and among the messages. */
export const recordOutcome = defineEffect({
  name: 'tasks.record_outcome',
  schema: z.object({ task_id: z.string(), call_id: z.string(), row: Row }),
  statements: ({ task_id, call_id, row }, now) => [
    { sql: 'UPDATE task_runs SET tool_calls_made = tool_calls_made + 1 WHERE task_id = ?', params: [task_id] },
    {
      sql: "UPDATE tool_calls SET state = 'done', outcome = ?, is_error = ?, ended_at = ? WHERE call_id = ?",
      params: [row.message.content, row.message.is_error ?? false, now, call_id],
    },
    append(task_id, row, now),
  ],
})

function append(task_id: string, { seq, message }: MessageRow, now: number): Statement {
  return {
    sql: 'INSERT INTO task_messages (task_id, seq, message, created_at) VALUES (?, ?, ?, ?)',
    params: [task_id, seq, JSON.stringify(message), now],
  }
}

/** What a model call added to the task's account, whether or not it brought an answer. */
export const chargeTask = defineEffect({
  name: 'tasks.charge',
  schema: z.object({
    task_id: z.string(),
    cost_micros: z.number().int(),
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
  }),
  statements: ({ task_id, cost_micros, input_tokens, output_tokens }) => [
    {
      sql: `UPDATE task_runs SET cost_micros = cost_micros + ?, input_tokens = input_tokens + ?,
              output_tokens = output_tokens + ? WHERE task_id = ?`,
      params: [cost_micros, input_tokens, output_tokens, task_id],
    },
  ],
})

/** Text that was shown. Only the process that holds the task adds to it. */
export const recordText = defineEffect({
  name: 'tasks.record_text',
  schema: Hold.extend({ until: z.number().int(), text: z.string() }),
  statements: ({ task_id, owner, epoch, until, text }) => [
    {
      sql: `INSERT INTO task_texts (task_id, until, text) SELECT ?, ?, ? WHERE EXISTS
            (SELECT 1 FROM task_runs WHERE task_id = ? AND owner = ? AND epoch = ?) ON CONFLICT DO NOTHING`,
      params: [task_id, until, text, task_id, owner, epoch],
    },
  ],
})

/** How a task ended, or that it waits. Follows a hold, or a take. */
export const endTask = defineEffect({
  name: 'tasks.end',
  mustChange: true,
  schema: z.object({
    task_id: z.string(),
    status: z.enum(TASK_ENDS),
    output: z.string(),
    parsed: z.record(z.string(), z.unknown()).nullable(),
    error: Problem.nullable(),
    approval_ids: z.array(z.string()),
    duration_ms: z.number(),
  }),
  statements: ({ task_id, status, output, parsed, error, approval_ids, duration_ms }, now) => [
    {
      sql: `UPDATE task_runs SET status = ?, output = ?, parsed = ?, error = ?, approval_ids = ?, duration_ms = duration_ms + ?,
              ended_at = ?, lease_until = 0 WHERE task_id = ? AND status = 'running'`,
      params: [
        ...[status, output, parsed && JSON.stringify(parsed), error && JSON.stringify(error)],
        ...[JSON.stringify(approval_ids), Math.round(duration_ms)],
        ...[status === 'waiting_approval' ? null : now, task_id],
      ],
    },
  ],
})

export const TASK_EFFECTS = [
  ...[insertTask, holdTask, renewTasks, takeTask, seizeTask, releaseTask],
  ...[recordAnswer, recordOutcome, chargeTask, recordText, endTask],
]
