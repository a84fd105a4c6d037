import { ToolResult } from '#core/goals/contract'
import { ImageRef } from '#core/images/contract'
import { ModelParameters, SummaryMark } from '#core/models/contract'
import type { AnswerLimit } from '#core/runtime/contract'
import { Problem } from '#interfaces/rest/contract'
import { defineError, describeIssues, type Issue, type SvcErrorOptions, token, z } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { formatUsd } from '#lib/usd'
import type { TaskAnswer } from '#safety/questions/contract'

/** Statuses of a task that waits for an operator's decision or an answer. */
export const TASK_WAITS = ['waiting_approval', 'waiting_answer'] as const
/** Statuses of a task that has ended or waits. */
export const TASK_ENDS = ['completed', 'failed', 'max_steps', ...TASK_WAITS] as const

/** Returns whether a task with this status waits for people. */
export function isWaiting(status: string): boolean {
  return TASK_WAITS.some(each => each === status)
}

/** Schema of a task with one of these statuses. */
const taskWith = <S extends z.ZodType>(status: S) =>
  z.object({
    task_id: z.string(),
    status,
    output: z.string().describe('Answer of the task; for a failed task, the text up to the failure'),
    steps_taken: z.int().describe('Number of answers of the model'),
    tool_calls_made: z.int(),
    session_id: z.string(),
    approval_ids: z.array(z.string()).describe('Approvals that the operator must decide before the task continues'),
    question_ids: z.array(z.string()).describe('Questions that must be answered before the task continues'),
    cost_usd: z.number(),
    tokens: z.int(),
    parsed: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('Answer as an object that matches response_schema; null without a schema, or if no object matches'),
    error: Problem.nullable().describe('Why the task failed'),
  })

/** Result of a task that has ended or waits. */
export const TaskResponse = taskWith(z.enum(TASK_ENDS))
export type TaskResponse = z.infer<typeof TaskResponse>

/** Result of a task that has ended or waits, or its state so far. */
export const TaskState = taskWith(z.enum(['running', ...TASK_ENDS]))
export type TaskState = z.infer<typeof TaskState>

/** Current state of a task, also while it runs. */
export const Task = TaskState.extend({
  agent_id: z.string(),
  instruction: z.string(),
  images: z.array(ImageRef).describe('Images of the instruction'),
  max_steps: z.int(),
  response_schema: z.record(z.string(), z.unknown()).nullable(),
  parameters: ModelParameters.nullable().describe('Model parameters that were given with the task'),
  toolkits: z.array(z.string()).nullable().describe('Toolkits that were given with the task'),
  duration_ms: z.int().describe('Time spent working on the task, in milliseconds'),
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})
export type Task = z.infer<typeof Task>

/** One message of a task in its session's transcript. */
export const TaskMessage = z.object({
  task_id: z.string(),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })).optional(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
  is_error: z.boolean().optional(),
  is_notice: z
    .boolean()
    .optional()
    .describe('Set on a message of role user that svc itself added, such as the state of the workspace'),
  images: z.array(ImageRef).optional(),
  summary: SummaryMark.optional().describe('Set if the content is a summary of the conversation before it'),
  at: z.iso.datetime(),
})
export type TaskMessage = z.infer<typeof TaskMessage>

/**
 * Events of a task's stream: text as it comes, and one last event, `done` or `error`. At the end the text since the last
 * `reset` is the task's output.
 */
export const TASK_EVENTS = {
  token: z.object({ text: z.string().describe('Text of the model since the previous event') }),
  reset: z
    .object({ message: z.string() })
    .describe('All text before this event is discarded: another attempt, or the next answer, replaces it'),
  info: z.object({ code: z.string(), message: z.string() }),
  tool_result: ToolResult.omit({ agent_id: true, goal_id: true, duration_ms: true }).describe(
    'A tool call ended; sent only with `tool_calls`',
  ),
  approval_requested: z
    .object({ approval_id: z.string(), tool_name: z.string(), arguments: z.string().describe('JSON, cut when long') })
    .describe('A tool call waits for a decision; sent only with `tool_calls`'),
  done: TaskResponse.describe('The task ended, waits for an approval or an answer, or was cancelled'),
  error: Problem.extend({
    task: TaskResponse.optional().describe('The task that failed, with the text shown so far as its output'),
  }).describe('The task failed, or its stream did'),
}

/** Sent once, at the beginning of a stream that shows no text until its end. */
export const SUPPRESSED = {
  code: 'token_streaming_suppressed_by_guardrails',
  message: 'Guardrails are on: the answer is sent as a whole at the end, after it was checked.',
}

/** Message of a `reset` event. */
export const RESET = { message: 'The text so far is discarded; the answer starts again.' }

const TaskMoment = z.object({ agent_id: z.string(), task_id: z.string(), session_id: z.string() })
export const TaskStarted = TaskMoment.extend({
  traceparent: z.string().optional().describe('W3C trace context of the caller'),
}).describe('A one-shot task began')
export const TaskEnded = TaskMoment.extend({
  status: z.enum(TASK_ENDS),
  cancelled: z.boolean().optional().describe('Whether a task that failed was cancelled'),
}).describe('A one-shot task ended, or waits for an approval or an answer')

/** A task from another protocol. */
export interface NewTask {
  /** An agent's id, or its name if that is unique. */
  agent: string
  tenant: string
  instruction: string
  /** A session of the user, by its id or otherwise by the user's key; without either a new one is created. */
  session_id?: string | undefined
  session_key?: string | undefined
  /** Idempotency key: repeating it returns the same task. */
  key: string
  request_id: string
  /** Whether the agent may ask questions, which the user answers with `Tasks.answer`. */
  may_ask: boolean
}

/** A task with the idempotency key that started it. */
export type KeyedTask = Task & { key: string | null }

/** One-shot tasks for modules of other protocols. Users can only see their own tasks. */
export interface Tasks {
  /**
   * Starts a task that continues without readers, and streams its text.
   * @throws the errors of `tasks.stream`
   */
  begin(task: NewTask): Promise<KeyedTask>
  /**
   * Returns a task of this tenant.
   * @throws TaskNotFoundError
   */
  find(task_id: string, tenant: string): Promise<KeyedTask>
  /**
   * Streams the text after a position, and the end; see `TASK_EVENTS`.
   * @throws TaskNotFoundError
   */
  follow(task_id: string, after: string | undefined, signal: AbortSignal): AsyncIterable<StreamEvent>
  /**
   * Answers the task's question and resumes the task. Repeating the key has no effect.
   * @throws TaskNotFoundError, TaskAsksNothingError, and the errors of `Questions.answerTask`
   */
  answer(task_id: string, tenant: string, answer: TaskAnswer): Promise<KeyedTask>
  /**
   * Cancels a task in whatever process it runs.
   * @throws TaskNotFoundError, TaskOverError
   */
  cancel(task_id: string, tenant: string): Promise<KeyedTask>
  /** Cancels the running and waiting tasks of a session. */
  cancelIn(session_id: string): Promise<void>
}
export const Tasks = token<Tasks>('tasks')

export { TaskDriver } from '#observability/recordings/contract'

declare module '#kernel' {
  interface Events {
    task_started: z.infer<typeof TaskStarted>
    /** Also emitted when a task stops to wait for people; it may be emitted again later. */
    task_ended: z.infer<typeof TaskEnded>
  }
}

export const TaskNotFoundError = defineError({
  code: 'task_not_found',
  status: 404,
  title: 'Task not found',
  message: (p: { task_id: string }) =>
    `There is no task "${p.task_id}" of this user; list those of an agent with: svc tasks <agent>`,
})
/** The model declined the task twice, or returned no answer twice. */
export const TaskRefusedError = defineError({
  code: 'task_refused',
  status: 422,
  title: 'Task refused',
  message: (p: { said: boolean; problem?: string | undefined }) =>
    p.said
      ? 'The model declined twice; its answer is the output.'
      : p.problem
        ? `The task was ended: ${p.problem}`
        : 'The model returned no answer twice.',
})
/** The answer was cut at its limit of tokens, `max_tokens` or one that a small context window sets. */
export const AnswerCutError = defineError({
  code: 'answer_cut',
  status: 422,
  title: 'Answer truncated',
  message: (p: AnswerLimit & { said: boolean }) =>
    p.said
      ? `The answer was cut at ${p.limit}. In a session, ask the agent to go on; otherwise ${p.remedy}, or ask for less.`
      : `The answer was cut at ${p.limit}, while the model was still thinking; ${p.remedy}, or set reasoning_effort to none.`,
})
export const TaskCostLimitError = defineError({
  code: 'task_cost_limit',
  status: 422,
  title: 'Task cost limit',
  message: (p: { spent_usd: number; limit_usd: number }) =>
    `The task has cost ${formatUsd(p.spent_usd)} and is not done; its limit (max_cost_usd) is $${p.limit_usd}. Raise max_cost_usd in the profile, or ask for less.`,
})
export const TaskCancelledError = defineError({
  code: 'task_cancelled',
  status: 499,
  title: 'Task cancelled',
  message: () =>
    'The client disconnected before the task was done, so the task was cancelled. Over HTTP, the task of a request with an Idempotency-Key continues.',
})
export const TaskGoesOnError = defineError({
  code: 'task_goes_on',
  status: 499,
  title: 'Task continues',
  message: (p: { task_id: string }) =>
    `The client disconnected, and the task ${p.task_id} continues; repeat the request with the same Idempotency-Key to get its answer.`,
})
export const TaskStoppedError = defineError({
  code: 'task_stopped',
  status: 409,
  title: 'Task stopped',
  message: () => 'The task was cancelled on request.',
})
export const TaskOverError = defineError({
  code: 'task_over',
  status: 409,
  title: 'Task has ended',
  message: (p: { task_id: string; status: string }) =>
    `Task ${p.task_id} cannot be cancelled: its status is ${p.status}.`,
})
export const TaskAsksNothingError = defineError({
  code: 'task_asks_nothing',
  status: 409,
  title: 'Task has no open question',
  message: (p: { task_id: string; status: string }) =>
    `Task ${p.task_id} accepts no message now: it is ${p.status} and has no open question.`,
})
export const TaskInterruptedError = defineError({
  code: 'task_interrupted',
  status: 503,
  title: 'Task interrupted',
  message: () =>
    'The service stopped while the task ran; the outcome of its last tool calls is unknown. Check what they did, then run the task again. A task with an Idempotency-Key is resumed automatically, unless it was interrupted too often.',
})
/**
 * The answer of a structured task is no object that matches its schema. `raw` is the model's answer after redaction.
 */
export class StructuredParseError extends defineError({
  code: 'structured_parse_error',
  status: 422,
  title: 'Structured parse error',
  message: (p: { raw: string; problem: string }) => `The answer does not match the required schema: ${p.problem}.`,
}) {
  override name = 'StructuredParseError'
  readonly raw: string

  constructor(params: { raw: string; problem: string }, options: Pick<SvcErrorOptions, 'errors' | 'cause'> = {}) {
    super(params, options)
    this.raw = params.raw
  }

  /** @param otherwise the problem if there are no issues */
  static of(raw: string, errors: readonly Issue[], otherwise: string): StructuredParseError {
    return new StructuredParseError({ raw, problem: describeIssues(errors) || otherwise }, { errors })
  }
}
/** The model repeated the same calls with the same results, or gave answers that bring the task no further. */
export const TaskRepeatingError = defineError({
  code: 'task_repeating',
  status: 422,
  title: 'Task repeating',
  message: (p: { calls: string; problem?: string | undefined }) =>
    p.problem
      ? `The task was ended: ${p.problem}`
      : `The model repeated the same calls three times in a row with the same result (${p.calls}), so the task was ended.`,
})
