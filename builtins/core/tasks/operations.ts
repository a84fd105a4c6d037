import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { IMAGES_BODY_BYTES, ImageInputs, ImageRefusedError } from '#core/images/contract'
import { ModelParameters } from '#core/models/contract'
import { PROFILE_TOOLKITS } from '#core/runtime/contract'
import { OtherAgentSessionError, SessionClosedError, SessionNotFoundError, Sessions } from '#core/sessions/contract'
import { IdempotencyKeyReusedError } from '#interfaces/rest/contract'
import { type OperationCall, operation, type PluginHandle, z } from '#kernel'
import { brief } from '#lib/brief'
import { idSchema } from '#lib/id-schema'
import { othersNotice, Page } from '#lib/list'
import { stream } from '#lib/stream'
import { describeTaskEnd, shownStatus } from '#lib/task-end'
import { describeMessage } from '#lib/transcript-text'
import { isTree, type Tree } from '#lib/tree'
import { formatUsd } from '#lib/usd'
import { isoTime, Store } from '#platform/store/contract'
import { BudgetExhaustedError } from '#safety/budget/contract'
import {
  isWaiting,
  TASK_EVENTS,
  Task,
  TaskCancelledError,
  TaskMessage,
  TaskNotFoundError,
  TaskOverError,
  TaskResponse,
  TaskState,
} from './contract.ts'
import { followTask } from './follow.ts'
import { countMessages, countTasks, listTasks, sessionMessages, type TaskRow } from './repository.ts'
import { responseOf, stateOf, taskOf } from './shape.ts'
import { OwnTasks } from './task-service.ts'

/** Maximum length of an instruction, in code points. */
const MAX_INSTRUCTION = 100_000

const id = AgentRef
const task_id = idSchema("A task's id", 'task-1a2b3c4d5e6f')
const tool_calls = z
  .boolean()
  .default(false)
  .describe('Whether to send events of tool calls too: tool_result and approval_requested')
const session_id = idSchema("A session's id", 'sess-1a2b3c4d5e6f')
const found = [AgentNotFoundError, AmbiguousAgentError] as const

/** Maximum size of a schema, in characters of JSON: it is part of each prompt. */
const MAX_SCHEMA = 32_000

/** Keeps the given object instead of a copy, because its zod schema may be known in this process. */
const ResponseSchema = z
  .custom<Tree>(isTree, 'must be a JSON Schema object')
  .superRefine((schema, { addIssue }) => {
    const refuse = (why: string) =>
      addIssue({ code: 'custom', message: `cannot be used as the schema of an answer: ${why}` })
    if (schema.type !== 'object') refuse('its type must be "object"; put any other type into a property of an object')
    const { length } = JSON.stringify(schema)
    if (length > MAX_SCHEMA) refuse(`it has ${length} characters as JSON; the maximum is ${MAX_SCHEMA}`)
  })
  .meta({ type: 'object', additionalProperties: true })

const TaskInput = z.strictObject({
  id,
  instruction: z
    .string()
    .refine(text => text.trim() !== '', 'must not be empty')
    .refine(text => [...text].length <= MAX_INSTRUCTION, `must be at most ${MAX_INSTRUCTION} characters (code points)`)
    .meta({ minLength: 1, maxLength: MAX_INSTRUCTION, examples: ['Say which of the notes is the oldest.'] })
    .describe('Instruction for the agent, in plain words'),
  images: ImageInputs,
  max_steps: z
    .int()
    .min(1)
    .max(1000)
    .default(25)
    .describe('Maximum number of answers of the model; the task ends after that'),
  session_id: z.string().min(1).max(128).nullish().describe('Session of the task; takes precedence over session_key'),
  session_key: z
    .string()
    .min(1)
    .max(256)
    .nullish()
    .describe(
      'Name of the session, chosen by the user; a session that does not exist is created. Without session_id and session_key, the task gets a new session',
    ),
  response_schema: ResponseSchema.nullish().describe(
    'JSON Schema of type object that the answer must match; the resulting object is in parsed',
  ),
  max_tokens: ModelParameters.shape.max_tokens
    .nullable()
    .describe('Maximum tokens of one answer, without those for thinking; takes precedence over parameters.max_tokens'),
  parameters: ModelParameters.nullish().describe(
    'Parameters of the model; they take precedence over those of the profile and the model',
  ),
  toolkits: z
    .array(z.string().min(1).max(500))
    .max(100)
    .nullish()
    .describe(
      "Toolkits, or groups of them, that the task may use if the agent's profile has them; profile: all that it has",
    ),
})
const begins = {
  input: TaskInput,
  errors: [
    ...found,
    AgentDeadError,
    SessionNotFoundError,
    SessionClosedError,
    OtherAgentSessionError,
    // The task is deleted if its agent is deleted during the run.
    BudgetExhaustedError,
    IdempotencyKeyReusedError,
    TaskNotFoundError,
    ImageRefusedError,
  ],
}
const OPTIONS = {
  defaults: { toolkits: [PROFILE_TOOLKITS] },
  short: { session_key: 'k', max_steps: 'm' },
  files: { response_schema: 'schema' },
  attachments: { images: 'image' },
}
const KEY =
  'The task is cancelled when its client disconnects or, over MCP, cancels the call. With an Idempotency-Key (HTTP) it continues instead: another process resumes it if this one dies, and repeating the request returns the same task.'

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
  description: `Runs the task independently of the agent's goals; without toolkits, with a small set of tools. ${KEY} Use wait: false for a task that may outlast the client's time limit.`,
  ...begins,
  input: TaskInput.extend({
    wait: z
      .boolean()
      .default(true)
      .describe('Whether to wait for the end; if false, the answer has status running, and tasks.get has the result'),
  }),
  output: TaskState,
  http: { method: 'POST', path: '/agents/{id}/tasks', idempotent: 'self', body_bytes: IMAGES_BODY_BYTES },
  cli: { usage: 'task run <id> <instruction...>', ...OPTIONS },
  mcp: true,
  async run({ wait, ...input }, call) {
    const { svc } = call
    // A task with a key continues without its client.
    const kept = wait ? call : { ...call, idempotency_key: call.idempotency_key ?? svc.ports.ids.make('key', 12) }
    const { task_id, carried } = await svc.use(OwnTasks).begin(input, kept, false)
    if (!wait) return stateOf(await svc.use(OwnTasks).find(task_id))
    call.progress(`Task ${task_id} has started`)
    // Waits for the end of a run that ends with its client, so that the end is reported.
    return responseOf(await svc.use(OwnTasks).waitUntilSettled(task_id, carried ? undefined : call.signal))
  },
  render: renderTask,
  exit: exitOf,
})

export const tasksStream = stream({
  name: 'tasks.stream',
  summary: 'Run a task and stream its answer',
  description: `Sends the text as the model writes it, and then one final event: error if the task failed, otherwise done. ${KEY}`,
  ...begins,
  input: TaskInput.extend({ tool_calls }),
  events: TASK_EVENTS,
  http: { method: 'POST', path: '/agents/{id}/tasks/stream', idempotent: 'self', body_bytes: IMAGES_BODY_BYTES },
  cli: { usage: 'run <id> <instruction...>', ...OPTIONS, preset: { tool_calls: true } },
  mcp: true,
  async *run({ tool_calls, ...input }, call) {
    const { svc } = call
    const { task_id, carried } = await svc.use(OwnTasks).begin(input, call, true)
    try {
      yield* followTask(svc, svc.use(OwnTasks), task_id, call.last_event_id, carried ? undefined : call.signal, {
        showsCalls: tool_calls,
      })
    } finally {
      // Has no effect if the run has ended.
      carried?.abort(new TaskCancelledError())
    }
  },
})

export const tasksGet = operation({
  name: 'tasks.get',
  summary: 'Show a task',
  description: "Returns the task's status, and its output or error when it has ended.",
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
  description:
    'The task may run in any process. Over HTTP, it continues after the event in Last-Event-ID. The stream of a task that waits for a decision or an answer ends at once; with wait, it goes on until the task ends or waits for another.',
  input: z.object({
    task_id,
    tool_calls,
    wait: z.boolean().default(false).describe('Whether to wait for the decision or answer that the task waits for now'),
  }),
  events: TASK_EVENTS,
  http: { method: 'GET', path: '/tasks/{task_id}/stream' },
  cli: { usage: 'task follow <task_id>', preset: { tool_calls: true } },
  mcp: true,
  errors: [TaskNotFoundError],
  async *run({ task_id, tool_calls, wait }, call) {
    const { svc } = call
    await requireOwnTask(svc, task_id, call)
    const options = { showsCalls: tool_calls, waits: wait }
    yield* followTask(svc, svc.use(OwnTasks), task_id, call.last_event_id, call.signal, options)
  },
})

export const tasksResume = operation({
  name: 'tasks.resume',
  summary: 'Resume a task that waited for a decision or an answer',
  description:
    'A running server resumes the task by itself when it receives the decision or answer. A task that has ended is not changed.',
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
  description: 'Ends the task in any process, running or waiting. Fails with task_over if the task has ended.',
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
  description: 'Returns the tasks of the calling user: over HTTP the one in X-Svc-User, on the command line `default`.',
  input: Page.extend({ id, session_id: session_id.optional().describe('Only tasks of this session') }),
  output: z.array(Task),
  http: { method: 'GET', path: '/agents/{id}/tasks' },
  cli: { usage: 'tasks <id>', short: { limit: 'n' } },
  mcp: true,
  errors: found,
  async run({ id, session_id, ...page }, { svc, tenant }) {
    await svc.use(OwnTasks).settleLost()
    const filter = { agent_id: await agentOf(svc, id), user_id: tenant, session_id }
    return (await listTasks(svc.use(Store), filter, page)).map(taskOf)
  },
  count: async ({ id, session_id }, { svc, tenant }) =>
    countTasks(svc.use(Store), { agent_id: await agentOf(svc, id), user_id: tenant, session_id }),
  notice: async (services, { input: { id, session_id }, tenant }) => {
    const { agent_id } = await services.use(Agents).find(id)
    const others = { agent_id, user_id: tenant, of_others: true, session_id }
    return othersNotice(await countTasks(services.use(Store), others), 'task')
  },
  render: tasks => tasks.map(line).join('\n') || 'no tasks of the user "default" yet',
})

export const tasksTranscript = operation({
  name: 'tasks.transcript',
  summary: "Show a session's transcript, oldest first",
  description: 'Returns the messages of all tasks of the session.',
  input: Page.extend({ session_id }),
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
  render: messages => messages.map(describeMessage).join('\n\n') || 'no messages',
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

/** Returns the exit code, so that scripts stop at a task without an answer. */
function exitOf({ status }: TaskState): number {
  return status === 'completed' || status === 'running' ? 0 : 1
}

function renderTask(task: TaskState): string {
  const { task_id, status, output, parsed } = task
  if (status === 'running') return `${status}: see svc task ${task_id}`
  if (parsed) return JSON.stringify(parsed, null, 2)
  if (status === 'completed') return output
  return (isWaiting(status) ? [] : [output]).concat(describeTaskEnd(task)).join('\n\n').trim()
}

function line(task: Task): string {
  const { task_id, instruction, cost_usd, created_at } = task
  return `${task_id}  ${created_at}  ${shownStatus(task)}  ${formatUsd(cost_usd)}  ${brief(instruction, 60)}`
}
