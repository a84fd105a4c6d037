import { isWaiting, type KeyedTask, type Task } from '#core/tasks/contract'
import { isCancelled } from '#lib/task-end'
import type { KeyedQuestion, Question } from '#safety/questions/contract'

type Json = Record<string, unknown>

/** Prefix of the idempotency key of a message, before its id. */
export const KEY_PREFIX = 'a2a:'

/** A task with the id of its conversation and its questions, oldest first. */
export interface NamedTask {
  task: KeyedTask
  contextId: string
  questions: readonly KeyedQuestion[]
}

/** Output format of a protocol version. */
export interface Dialect {
  task(shown: NamedTask, historyLength?: number | null): Json
  /** Response to a message. */
  messageAnswer(task: Json): Json
  /** Items of a stream: the current task, a piece of its answer, its final status. */
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
  waiting_answer: 'TASK_STATE_INPUT_REQUIRED',
} as const

function stateOf({ task, questions }: NamedTask): string {
  const { status } = task
  if (openQuestion(status, questions)) return STATES.waiting_answer
  return isCancelled(task) ? 'TASK_STATE_CANCELED' : STATES[status]
}

/**
 * Returns the open question of a waiting task, which the client can answer even if a call also waits for the operator.
 */
function openQuestion(status: Task['status'], questions: readonly Question[]): Question | undefined {
  return isWaiting(status) ? questions.find(each => each.status === 'open') : undefined
}

function questionText({ question, options, free_text, default: otherwise, default_at }: Question): string {
  const others = free_text
    ? 'Answer with one of these options, or with any other text:'
    : 'Answer with one of these options:'
  return [
    question,
    options.length > 0 && [others, ...options.map((option, n) => `${n + 1}. ${option}`)].join('\n'),
    otherwise !== null && `Without an answer by ${default_at}, the task continues with: ${otherwise}`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** Returns an explanation of the state, where the state alone is not enough. */
function reasonOf({ task: { status, error, max_steps }, questions }: NamedTask): string | undefined {
  const question = openQuestion(status, questions)
  if (question) return questionText(question)
  if (status === 'waiting_approval') return 'The operator of this agent must approve its next action.'
  if (status === 'max_steps') return `The task was not done after ${max_steps} answers of the model.`
  return error?.detail
}

/** Version 1.0: the JSON mapping of Protocol Buffers. */
export const V1: Dialect = {
  task(shown, historyLength) {
    const { task, contextId, questions } = shown
    const { task_id: id, output, agent_id, cost_usd, tokens } = task
    const about = { taskId: id, contextId }
    const messageOf = (name: string, role: 'ROLE_USER' | 'ROLE_AGENT', words: string, key: string | null = null) => ({
      messageId: messageIdOf(key) ?? `${id}-${name}`,
      role,
      parts: [text(words)],
      ...about,
    })
    const history = [
      messageOf('instruction', 'ROLE_USER', task.instruction, task.key),
      ...questions.flatMap(each => [
        messageOf(each.question_id, 'ROLE_AGENT', questionText(each)),
        ...(each.answer === null
          ? []
          : [messageOf(`${each.question_id}-answer`, 'ROLE_USER', each.answer, each.answer_key)]),
      ]),
      ...(output === '' ? [] : [messageOf('answer', 'ROLE_AGENT', output)]),
    ]
    const artifact = { artifactId: `${id}-answer`, name: 'answer', parts: [text(output)] }
    return {
      id,
      contextId,
      status: statusOf(shown),
      artifacts: output === '' ? [] : [artifact],
      history:
        historyLength == null ? history : history.slice(history.length - Math.min(history.length, historyLength)),
      metadata: { agent_id, cost_usd, tokens },
    }
  },
  messageAnswer: task => ({ task }),
  taskItem: task => ({ task }),
  piece: ({ task, contextId }, words, lastChunk, append) => ({
    artifactUpdate: {
      taskId: task.task_id,
      contextId,
      append,
      lastChunk,
      artifact: { artifactId: `${task.task_id}-answer`, name: 'answer', parts: [text(words)] },
    },
  }),
  status: shown => ({
    statusUpdate: { taskId: shown.task.task_id, contextId: shown.contextId, status: statusOf(shown) },
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

function statusOf(shown: NamedTask): Json {
  const { task, contextId } = shown
  const { task_id, created_at, ended_at } = task
  const reason = reasonOf(shown)
  const about = { messageId: `${task_id}-status`, role: 'ROLE_AGENT', taskId: task_id, contextId }
  const message = reason === undefined ? {} : { message: { ...about, parts: [text(reason)] } }
  return { state: stateOf(shown), ...message, timestamp: ended_at ?? created_at }
}

/** Returns the id of the message that was stored under a key; undefined if the key came from elsewhere. */
function messageIdOf(key: string | null): string | undefined {
  return key?.startsWith(KEY_PREFIX) ? key.slice(KEY_PREFIX.length) : undefined
}

function text(value: string): Json {
  return { text: value, mediaType: 'text/plain' }
}

/** Converts output of version 1.0 to version 0.3. */
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
