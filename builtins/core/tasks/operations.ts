import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { IMAGES_BODY_BYTES, ImageInputs, ImageRefusedError } from '#core/images/contract'
import { ModelParameters } from '#core/models/contract'
import { OtherAgentSessionError, SessionClosedError, SessionNotFoundError, Sessions } from '#core/sessions/contract'
import { IdempotencyKeyReusedError } from '#interfaces/rest/contract'
import { type OperationCall, operation, type PluginHandle, z } from '#kernel'
import { Page } from '#lib/list'
import { stream } from '#lib/stream'
import { isTree, type Tree } from '#lib/tree'
import { isoTime, Store } from '#platform/store/contract'
import { BudgetExhaustedError } from '#safety/budget/contract'
import {
  TASK_EVENTS,
  Task,
  TaskCancelledError,
  TaskMessage,
  TaskNotFoundError,
  TaskOverError,
  TaskResponse,
} from './contract.ts'
import { followTask } from './follow.ts'
import { countMessages, countTasks, listTasks, sessionMessages, type TaskRow } from './repository.ts'
import { responseOf, taskOf } from './shape.ts'
import { OwnTasks } from './task-service.ts'

/** Maximum length of an instruction, in code points. */
const MAX_INSTRUCTION = 100_000

const id = AgentRef
const task_id = z
  .string()
  .min(1)
  .max(128)
  .describe("A task's id")
  .meta({ examples: ['task-1a2b3c4d5e6f'] })
const found = [AgentNotFoundError, AmbiguousAgentError] as const

/** Maximum size of a schema, in characters of JSON: it is part of each prompt. */
const MAX_SCHEMA = 32_000

/** Keeps the given object instead of a copy, because its zod schema may be known in this process. */
const ResponseSchema = z
  .custom<Tree>(isTree, 'must be a JSON Schema, which is an object')
  .superRefine((schema, { addIssue }) => {
    const refuse = (why: string) => addIssue({ code: 'custom', message: `is no schema for an answer: ${why}` })
    if (schema.type !== 'object') refuse('its type must be "object"; put anything else into a property of one')
    const { length } = JSON.stringify(schema)
    if (length > MAX_SCHEMA) refuse(`it has ${length} characters as JSON, at most ${MAX_SCHEMA} are taken`)
  })
  .meta({ type: 'object', additionalProperties: true })

const TaskInput = z.strictObject({
  id,
  instruction: z
    .string()
    .refine(text => text.trim() !== '', 'must not be empty')
    .refine(text => [...text].length <= MAX_INSTRUCTION, `must be at most ${MAX_INSTRUCTION} characters (code points)`)
    .meta({ minLength: 1, maxLength: MAX_INSTRUCTION, examples: ['Say which of the notes is the oldest.'] })
    .describe('What is to be done'),
  images: ImageInputs,
  max_steps: z.number().int().min(1).max(1000).default(25).describe('Answers of the model after which it ends'),
  session_id: z.string().min(1).max(128).nullish().describe('The session that it belongs to; goes before session_key'),
  session_key: z
    .string()
    .min(1)
    .max(256)
    .nullish()
    .describe("The user's own name for the session, which is made when there is none; a fresh one without both"),
  response_schema: ResponseSchema.nullish().describe(
    'A JSON Schema of type object that the answer is to fit; the object is then in parsed',
  ),
  max_tokens: ModelParameters.shape.max_tokens
    .nullable()
    .describe('Tokens of one answer at most, without those for thinking; goes before parameters.max_tokens'),
  parameters: ModelParameters.nullish().describe('How the model answers; goes before what profile and model say'),
})
const begins = {
  input: TaskInput,
  errors: [
    ...[...found, AgentDeadError, SessionNotFoundError, SessionClosedError, OtherAgentSessionError],
    // The task is deleted if its agent is deleted during the run.
    ...[BudgetExhaustedError, IdempotencyKeyReusedError, TaskNotFoundError, ImageRefusedError],
  ],
}
const OPTIONS = {
  short: { session_key: 'k', max_steps: 'm' },
  files: { response_schema: 'schema' },
  attachments: { images: 'image' },
}
const KEY =
  'It ends when its client goes away, unless the request has an Idempotency-Key: then it goes on, is taken up again by another process when this one dies, and the same request again gives the same task.'

/** Returns a task of this user. Tasks of other users appear not to exist. */
async function requireOwnTask(svc: PluginHandle, task_id: string, { tenant }: OperationCall): Promise<TaskRow> {
  await svc.use(OwnTasks).settleLost()
  const row = await svc.use(OwnTasks).find(task_id)
  if (row.user_id !== tenant) throw new TaskNotFoundError({ task_id })
  return row
}

const agentOf = async (svc: PluginHandle, ref: string) => (await svc.use(Agents).find(ref)).agent_id

export const tasksRun = operation({
  name: 'tasks.run',
  summary: 'Run a task and wait for its answer',
  description: `Runs beside the agent's own life, with a small set of tools. ${KEY}`,
  ...begins,
  output: TaskResponse,
  http: { method: 'POST', path: '/agents/{id}/tasks', idempotent: 'self', body_bytes: IMAGES_BODY_BYTES },
  cli: { usage: 'task run <id> <instruction...>', ...OPTIONS },
  mcp: true,
  async run(input, call) {
    const { svc } = call
    const { task_id, carried } = await svc.use(OwnTasks).begin(input, call, false)
    // Waits for the end of a run that ends with its client, so that the end is reported.
    return responseOf(await svc.use(OwnTasks).waitUntilSettled(task_id, carried ? undefined : call.signal))
  },
  render: renderTask,
  exit: exitOf,
})

export const tasksStream = stream({
  name: 'tasks.stream',
  summary: 'Run a task and stream its answer',
  description: `Sends text as it comes, and one last event: error when the task failed, else done. ${KEY}`,
  ...begins,
  events: TASK_EVENTS,
  http: { method: 'POST', path: '/agents/{id}/tasks/stream', idempotent: 'self', body_bytes: IMAGES_BODY_BYTES },
  cli: { usage: 'run <id> <instruction...>', ...OPTIONS },
  mcp: true,
  async *run(input, call) {
    const { svc } = call
    const { task_id, carried } = await svc.use(OwnTasks).begin(input, call, true)
    try {
      yield* followTask(svc, svc.use(OwnTasks), task_id, call.last_event_id, carried ? undefined : call.signal)
    } finally {
      // Has no effect if the run has ended.
      carried?.abort(new TaskCancelledError())
    }
  },
})

export const tasksGet = operation({
  name: 'tasks.get',
  summary: 'Show a task',
  description: 'Its status, and its output or error when it has ended.',
  input: z.object({ task_id }),
  output: Task,
  http: { method: 'GET', path: '/tasks/{task_id}' },
  cli: { usage: 'task <task_id>' },
  mcp: true,
  errors: [TaskNotFoundError],
  run: async ({ task_id }, call) => taskOf(await requireOwnTask(call.svc, task_id, call)),
})

export const tasksFollow = stream({
  name: 'tasks.follow',
  summary: "Follow a task's stream",
  description: 'Wherever it runs; with Last-Event-ID it continues after that event.',
  input: z.object({ task_id }),
  events: TASK_EVENTS,
  http: { method: 'GET', path: '/tasks/{task_id}/stream' },
  cli: { usage: 'task follow <task_id>' },
  mcp: true,
  errors: [TaskNotFoundError],
  async *run({ task_id }, call) {
    const { svc } = call
    await requireOwnTask(svc, task_id, call)
    yield* followTask(svc, svc.use(OwnTasks), task_id, call.last_event_id, call.signal)
  },
})

export const tasksResume = operation({
  name: 'tasks.resume',
  summary: 'Resume a task that waited for people',
  description:
    'It goes on by itself when the decision or answer reaches a running server; a task that has ended stays as it is.',
  input: z.object({ task_id }),
  output: TaskResponse,
  http: { method: 'POST', path: '/tasks/{task_id}/resume' },
  cli: { usage: 'task resume <task_id>' },
  mcp: true,
  errors: [TaskNotFoundError],
  async run({ task_id }, call) {
    const { svc } = call
    await requireOwnTask(svc, task_id, call)
    await svc.use(OwnTasks).resume(task_id)
    return responseOf(await svc.use(OwnTasks).waitUntilSettled(task_id, call.signal))
  },
  render: renderTask,
  exit: exitOf,
})

export const tasksCancel = operation({
  name: 'tasks.cancel',
  summary: 'Cancel a task',
  description: 'Ends it wherever it runs or waits; a task that has ended stays as it is.',
  input: z.object({ task_id }),
  output: Task,
  http: { method: 'POST', path: '/tasks/{task_id}/cancel' },
  cli: { usage: 'task cancel <task_id>' },
  mcp: true,
  errors: [TaskNotFoundError, TaskOverError],
  async run({ task_id }, call) {
    const { svc } = call
    await requireOwnTask(svc, task_id, call)
    await svc.use(OwnTasks).cancel(task_id)
    return taskOf(await svc.use(OwnTasks).find(task_id))
  },
})

export const tasksList = operation({
  name: 'tasks.list',
  summary: "List an agent's tasks, newest first",
  description: 'Tasks of the user that X-Svc-User names.',
  input: Page.extend({ id }),
  output: z.array(Task),
  http: { method: 'GET', path: '/agents/{id}/tasks' },
  cli: { usage: 'tasks <id>', short: { limit: 'n' } },
  mcp: true,
  errors: found,
  async run({ id, ...page }, { svc, tenant }) {
    await svc.use(OwnTasks).settleLost()
    return (await listTasks(svc.use(Store), await agentOf(svc, id), tenant, page)).map(taskOf)
  },
  count: async ({ id }, { svc, tenant }) => countTasks(svc.use(Store), await agentOf(svc, id), tenant),
  render: tasks => tasks.map(line).join('\n') || 'no tasks yet',
})

export const tasksTranscript = operation({
  name: 'tasks.transcript',
  summary: "Show a session's transcript, oldest first",
  description: 'The messages of all of its tasks.',
  input: Page.extend({
    session_id: z
      .string()
      .min(1)
      .max(128)
      .describe("A session's id")
      .meta({ examples: ['sess-1a2b3c4d5e6f'] }),
  }),
  output: z.array(TaskMessage),
  http: { method: 'GET', path: '/sessions/{session_id}/transcript' },
  cli: { usage: 'session transcript <session_id>', short: { limit: 'n' } },
  mcp: true,
  errors: [SessionNotFoundError],
  async run({ session_id, limit, offset }, { svc, tenant }) {
    await svc.use(Sessions).get(session_id, tenant)
    const rows = await sessionMessages(svc.use(Store), session_id, limit, offset)
    return rows.map(({ task_id, message, created_at }) => ({ task_id, ...message, at: isoTime(created_at) }))
  },
  count: async ({ session_id }, { svc, tenant }) => {
    await svc.use(Sessions).get(session_id, tenant)
    return countMessages(svc.use(Store), session_id)
  },
  render: messages =>
    messages.map(({ role, content, summary }) => `${summary ? 'summary' : role}: ${content}`).join('\n\n'),
})

export const taskOperations = [
  tasksRun,
  tasksStream,
  tasksGet,
  tasksFollow,
  tasksResume,
  tasksCancel,
  tasksList,
  tasksTranscript,
]

/** Returns the exit code, so that scripts stop at a failed task. */
function exitOf({ status }: TaskResponse): number {
  return status === 'failed' ? 1 : 0
}

function renderTask({ status, output, parsed, error, approval_ids, question_ids }: TaskResponse): string {
  if (parsed) return JSON.stringify(parsed, null, 2)
  if (error) return `${output ? `${output}\n\n` : ''}${status}: ${error.detail}`
  if (approval_ids.length === 0 && question_ids.length > 0)
    return `${status}: see svc questions, then svc answer ${question_ids[0]} <answer>`
  if (approval_ids.length === 0) return status === 'completed' ? output : `${output}\n\n${status}`.trim()
  return `${status}: decide with svc approve ${approval_ids.join(', ')}`
}

function line({ task_id, status, instruction, cost_usd, created_at }: Task): string {
  return `${task_id}  ${created_at}  ${status}  $${cost_usd.toFixed(4)}  ${instruction.replace(/\s+/g, ' ').slice(0, 60)}`
}
