import sessions from '#core/sessions/index'
import type { Task, TaskResponse } from '#core/tasks/contract'
import tasks from '#core/tasks/index'
import type { OperationCall } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import approvals from '#safety/approvals/index'
import type { Script, TestHost, TestHostOptions } from '../../../support/index.ts'
import { testHostWithModel } from '../models/model-host.ts'

export { rows } from '../models/model-host.ts'

/** Modules that one-shot tasks need beside those that agents need. */
export const TASK_MODULES = [approvals, sessions, tasks]

/** Opens a test host whose agents do tasks with a scripted model. It has no heartbeat of its own. */
export const testHostWithTasks = (script: Script, options: TestHostOptions = {}) =>
  testHostWithModel(script, {
    ...options,
    roles: options.roles ?? ['server'],
    builtins: [...TASK_MODULES, ...(options.builtins ?? [])],
  })

type Call = Partial<OperationCall>

export const run = ({ kernel }: TestHost, id: string, instruction: string, more: object = {}, call: Call = {}) =>
  kernel.invoke('tasks.run', { id, instruction, ...more }, call) as Promise<TaskResponse>

export const taskOf = ({ kernel }: TestHost, task_id: string, call: Call = {}) =>
  kernel.invoke('tasks.get', { task_id }, call) as Promise<Task>

/** Starts a stream; its events are produced when they are requested. */
export const streamTask = async (
  { kernel }: TestHost,
  id: string,
  instruction: string,
  more: object = {},
  call: Call = {},
) => (await kernel.invoke('tasks.stream', { id, instruction, ...more }, call)) as AsyncIterableIterator<StreamEvent>

export const followTask = async ({ kernel }: TestHost, task_id: string, call: Call = {}) =>
  (await kernel.invoke('tasks.follow', { task_id }, call)) as AsyncIterableIterator<StreamEvent>

/** Returns all events of a stream, to its end. */
export async function all(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Returns what a reader of a stream sees at its end: the text of its tokens since the last reset. */
export function textOf(events: readonly StreamEvent[]): string {
  const texts = events
    .slice(events.findLastIndex(({ event }) => event === 'reset') + 1)
    .map(({ event, data }) => (event === 'token' ? (data as { text: string }).text : ''))
  return texts.join('')
}

export const finishedTask = (events: readonly StreamEvent[]) => {
  const last = events.at(-1)
  if (last?.event !== 'done') throw new Error(`the stream ends with ${last?.event}`)
  return last.data as TaskResponse
}

/** Returns the task whose failure ended a stream. */
export const failedTask = (events: readonly StreamEvent[]) => {
  const last = events.at(-1)
  if (last?.event !== 'error') throw new Error(`the stream ends with ${last?.event}`)
  return (last.data as { task: TaskResponse }).task
}
