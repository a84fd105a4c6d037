import type { Task } from '#core/tasks/contract'

type Json = Record<string, unknown>

/** A task with the name of the conversation that it belongs to. */
export interface NamedTask {
  task: Task
  contextId: string
}

/** How a version of the protocol writes what it sends. */
export interface Dialect {
  task(shown: NamedTask, historyLength?: number | null): Json
  /** The answer to a message. */
  messageAnswer(task: Json): Json
  /** Items of a stream: the task as it is, a piece of its answer, how it stands at the end. */
  taskItem(task: Json): Json
  piece(shown: NamedTask, text: string, last: boolean, append: boolean): Json
  status(shown: NamedTask): Json
}

const STATES = {
  running: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  max_steps: 'TASK_STATE_FAILED',
  waiting_approval: 'TASK_STATE_AUTH_REQUIRED',
} as const
/** Codes of errors with which a task ends that was to end. */
const CANCELLED: readonly (string | undefined)[] = ['task_stopped', 'task_cancelled']

function stateOf({ status, error }: Task): string {
  return CANCELLED.includes(error?.code) ? 'TASK_STATE_CANCELED' : STATES[status]
}

/** What is said beside the state, where it alone does not tell. */
function reasonOf({ status, error, max_steps }: Task): string | undefined {
  if (status === 'waiting_approval') return 'The operator of this agent has to approve what it is about to do.'
  if (status === 'max_steps') return `It was not done after ${max_steps} answers of the model.`
  return error?.detail
}

/** Version 1.0: JSON as Protocol Buffers have it. */
export const V1: Dialect = {
  task({ task, contextId }, historyLength) {
    const { task_id: id, output, agent_id, cost_usd, tokens } = task
    const about = { taskId: id, contextId }
    const asked = { messageId: `${id}-instruction`, role: 'ROLE_USER', parts: [text(task.instruction)], ...about }
    const answered = { messageId: `${id}-answer`, role: 'ROLE_AGENT', parts: [text(output)], ...about }
    const history = output === '' ? [asked] : [asked, answered]
    const artifact = { artifactId: `${id}-answer`, name: 'answer', parts: [text(output)] }
    return {
      ...{ id, contextId, status: statusOf(task, contextId) },
      artifacts: output === '' ? [] : [artifact],
      history:
        historyLength == null ? history : history.slice(history.length - Math.min(history.length, historyLength)),
      metadata: { agent_id, cost_usd, tokens },
    }
  },
  messageAnswer: task => ({ task }),
  taskItem: task => ({ task }),
  piece: ({ task, contextId }, said, lastChunk, append) => ({
    artifactUpdate: {
      ...{ taskId: task.task_id, contextId, append, lastChunk },
      artifact: { artifactId: `${task.task_id}-answer`, name: 'answer', parts: [text(said)] },
    },
  }),
  status: ({ task, contextId }) => ({
    statusUpdate: { taskId: task.task_id, contextId, status: statusOf(task, contextId) },
  }),
}

/** Version 0.3: the same with `kind`, and states and roles in lower case. */
export const V03: Dialect = {
  task: (shown, historyLength) => older({ kind: 'task', ...V1.task(shown, historyLength) }),
  messageAnswer: task => task,
  taskItem: task => task,
  piece: (...args) => older({ kind: 'artifact-update', ...(V1.piece(...args).artifactUpdate as Json) }),
  status(shown) {
    const final = shown.task.status !== 'running'
    return older({ kind: 'status-update', final, ...(V1.status(shown).statusUpdate as Json) })
  },
}

function statusOf(task: Task, contextId: string): Json {
  const { task_id, created_at, ended_at } = task
  const reason = reasonOf(task)
  const about = { messageId: `${task_id}-status`, role: 'ROLE_AGENT', taskId: task_id, contextId }
  const message = reason === undefined ? {} : { message: { ...about, parts: [text(reason)] } }
  return { state: stateOf(task), ...message, timestamp: ended_at ?? created_at }
}

function text(value: string): Json {
  return { text: value, mediaType: 'text/plain' }
}

/** What 1.0 says, in the words of 0.3. */
function older<T>(value: T): T {
  if (Array.isArray(value)) return value.map(older) as T
  if (typeof value !== 'object' || value === null) return value
  const all = Object.entries(value).map(([key, each]) => {
    if (key === 'state') return [key, String(each).replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')]
    if (key === 'role') return [key, String(each).replace('ROLE_', '').toLowerCase()]
    return [key, key === 'metadata' ? each : older(each)]
  })
  const old = Object.fromEntries(all) as Json
  if ('mediaType' in old) return { kind: 'text', text: old.text } as T
  return ('messageId' in old ? { kind: 'message', ...old } : old) as T
}
