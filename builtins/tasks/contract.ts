import { defineError, z } from '#kernel'
import { Problem } from '../rest/contract.ts'

/** How a task ended, or that it waits for the operator. */
export const TASK_ENDS = ['completed', 'failed', 'max_steps', 'waiting_approval'] as const

/** A task with one of these statuses. */
const taskWith = <S extends z.ZodType>(status: S) =>
  z.object({
    task_id: z.string(),
    status,
    output: z.string().describe('The answer; of a task that failed, what was said until then'),
    steps_taken: z.number().int().describe('Answers of the model'),
    tool_calls_made: z.number().int(),
    session_id: z.string(),
    approval_ids: z.array(z.string()).describe('What the operator has to decide before it goes on'),
    cost_usd: z.number(),
    tokens: z.number().int(),
    error: Problem.nullable().describe('Why it failed'),
  })

/** The answer to a task that was run. */
export const TaskResponse = taskWith(z.enum(TASK_ENDS))
export type TaskResponse = z.infer<typeof TaskResponse>

/** A task as it stands, also while it runs. */
export const Task = taskWith(z.enum(['running', ...TASK_ENDS])).extend({
  agent_id: z.string(),
  instruction: z.string(),
  max_steps: z.number().int(),
  duration_ms: z.number().int().describe('How long it was worked on'),
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})
export type Task = z.infer<typeof Task>

/** One message of a task, as it stands in its session's transcript. */
export const TaskMessage = z.object({
  task_id: z.string(),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })).optional(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
  is_error: z.boolean().optional(),
  at: z.iso.datetime(),
})
export type TaskMessage = z.infer<typeof TaskMessage>

/** What a task's stream tells: deltas of text as they come, and its end. */
export const TASK_EVENTS = {
  token: z.object({ text: z.string().describe('What the model said since the event before') }),
  info: z.object({ code: z.string(), message: z.string() }),
  done: TaskResponse,
  error: Problem,
}

/** Said once, at the beginning of a stream that tells nothing until its end. */
export const SUPPRESSED = {
  code: 'token_streaming_suppressed_by_guardrails',
  message: 'Guardrails are on: the answer comes whole, at the end, once it was checked.',
}

export const TaskStarted = z.object({ agent_id: z.string(), task_id: z.string(), session_id: z.string() })
export const TaskEnded = TaskStarted.extend({ status: z.enum(TASK_ENDS) })

declare module '#kernel' {
  interface Events {
    task_started: z.infer<typeof TaskStarted>
    /** Also told when a task stops to wait for the operator; it may end again later. */
    task_ended: z.infer<typeof TaskEnded>
  }
}

export const TaskNotFoundError = defineError({
  code: 'task_not_found',
  status: 404,
  title: 'Task not found',
  sentence: (p: { task_id: string }) =>
    `There is no task "${p.task_id}" of this user; list those of an agent with: svc tasks <agent>`,
})
export const IdempotencyKeyReusedError = defineError({
  code: 'idempotency_key_reused',
  status: 422,
  title: 'Idempotency key reused',
  sentence: (p: { task_id: string }) =>
    `This Idempotency-Key belongs to task ${p.task_id}, whose request was a different one; use a new key for a new request.`,
})
export const TaskRefusedError = defineError({
  code: 'task_refused',
  status: 422,
  title: 'Task refused',
  sentence: (p: { said: boolean }) =>
    p.said ? 'The model declined, also when asked again; its words are the output.' : 'The model gave no answer twice.',
})
export const AnswerCutError = defineError({
  code: 'answer_cut',
  status: 422,
  title: 'Answer cut',
  sentence: (p: { max_tokens: number }) =>
    `The answer stopped at the profile's max_tokens (${p.max_tokens}); raise it, or ask for less.`,
})
export const TaskCostLimitError = defineError({
  code: 'task_cost_limit',
  status: 422,
  title: 'Task cost limit',
  sentence: (p: { spent_usd: number; limit_usd: number }) =>
    `The task has cost $${p.spent_usd.toFixed(4)} and is not done; the profile's max_cost_usd is $${p.limit_usd}.`,
})
export const TaskCancelledError = defineError({
  code: 'task_cancelled',
  status: 499,
  title: 'Task cancelled',
  sentence: () => 'The client went away before the task was done. With an Idempotency-Key it would have gone on.',
})
export const TaskInterruptedError = defineError({
  code: 'task_interrupted',
  status: 503,
  title: 'Task interrupted',
  sentence: () =>
    'The service stopped while the task ran: what its last tool calls did is not known. With an Idempotency-Key it would have been taken up again.',
})
export const TaskRepeatingError = defineError({
  code: 'task_repeating',
  status: 422,
  title: 'Task repeating',
  sentence: (p: { calls: string }) =>
    `The model did the same three times in a row with the same outcome (${p.calls}), so the task was ended.`,
})
