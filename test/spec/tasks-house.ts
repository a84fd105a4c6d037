import sessions from '#core/sessions/index'
import type { Task, TaskResponse } from '#core/tasks/contract'
import tasks from '#core/tasks/index'
import type { OperationCall, StreamEvent } from '#kernel'
import approvals from '#safety/approvals/index'
import type { House, HouseOptions, Script } from '../support/index.ts'
import { lived } from './rooms.ts'

export { rows } from './rooms.ts'

/** What one-shot tasks need beside the rooms in which agents live. */
export const TASK_ROOMS = [approvals, sessions, tasks]

/** A house whose agents do tasks with a scripted model; it has no heartbeat of its own. */
export const tasked = (script: Script, options: HouseOptions = {}) =>
  lived(script, {
    ...options,
    roles: options.roles ?? ['server'],
    builtins: [...TASK_ROOMS, ...(options.builtins ?? [])],
  })

type Call = Partial<OperationCall>

export const run = ({ kernel }: House, id: string, instruction: string, more: object = {}, call: Call = {}) =>
  kernel.invoke('tasks.run', { id, instruction, ...more }, call) as Promise<TaskResponse>

export const taskOf = ({ kernel }: House, task_id: string, call: Call = {}) =>
  kernel.invoke('tasks.get', { task_id }, call) as Promise<Task>

/** Begins a stream; its events come when they are asked for. */
export const streamed = async (
  { kernel }: House,
  id: string,
  instruction: string,
  more: object = {},
  call: Call = {},
) => (await kernel.invoke('tasks.stream', { id, instruction, ...more }, call)) as AsyncIterableIterator<StreamEvent>

export const followed = async ({ kernel }: House, task_id: string, call: Call = {}) =>
  (await kernel.invoke('tasks.follow', { task_id }, call)) as AsyncIterableIterator<StreamEvent>

/** All events of a stream, to its end. */
export async function all(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** What a reader of a stream sees at its end: the text of its tokens since the last reset. */
export function said(events: readonly StreamEvent[]): string {
  const texts = events
    .slice(events.findLastIndex(({ event }) => event === 'reset') + 1)
    .map(({ event, data }) => (event === 'token' ? (data as { text: string }).text : ''))
  return texts.join('')
}

export const done = (events: readonly StreamEvent[]) => {
  const last = events.at(-1)
  if (last?.event !== 'done') throw new Error(`the stream ends with ${last?.event}`)
  return last.data as TaskResponse
}

/** The task whose failure ended a stream. */
export const failed = (events: readonly StreamEvent[]) => {
  const last = events.at(-1)
  if (last?.event !== 'error') throw new Error(`the stream ends with ${last?.event}`)
  return (last.data as { task: TaskResponse }).task
}
