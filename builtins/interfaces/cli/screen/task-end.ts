import { brief } from '#lib/brief'
import { describeEvent } from '#lib/event-text'
import type { StreamEvent } from '#lib/stream'
import type { TaskEnd } from '#lib/task-end'

/** Returns what Ctrl-C does to the task of a command; undefined for other commands. */
export function interruptionOf(operation: string, { id, task_id }: Readonly<Record<string, unknown>>) {
  if (operation === 'tasks.run' || operation === 'tasks.stream')
    return `Interrupted: the task was cancelled. List the agent's tasks with: svc tasks ${id}`
  if (operation === 'tasks.follow') return `Interrupted: the task goes on. Show it with: svc task ${task_id}`
  return undefined
}

/** Returns the line for an event of a tool call; undefined for other events. */
export function callLineOf({ event, data }: StreamEvent): string | undefined {
  const call = data as Record<string, unknown>
  if (event === 'tool_result') return brief(describeEvent(event, call))
  return event === 'approval_requested' ? brief(`${describeEvent(event, call)}: ${call.arguments}`) : undefined
}

/** Returns the end of the task that an event reports; undefined when more events follow. */
export function endIn({ event, data }: StreamEvent): TaskEnd | undefined {
  if (event === 'done') return data as TaskEnd
  if (event !== 'error') return undefined
  const error = data as { detail?: string; task?: TaskEnd }
  return error.task ?? { status: 'failed', error }
}
