import type { StreamEvent } from '#lib/stream'

/** Last event of a task's stream, as far as it is shown. */
export interface End {
  status?: string
  output?: string
  error?: { detail?: string } | null
  approval_ids?: string[]
  question_ids?: string[]
}

/** Returns what Ctrl-C does to the task of a command; undefined for other commands. */
export function interruptionOf(operation: string, { id, task_id }: Readonly<Record<string, unknown>>) {
  if (operation === 'tasks.run' || operation === 'tasks.stream')
    return `Interrupted: the task was cancelled. List the agent's tasks with: svc tasks ${id}`
  if (operation === 'tasks.follow') return `Interrupted: the task goes on. Show it with: svc task ${task_id}`
  return undefined
}

/** Describes how a task ended: the reason where it failed, and what to do where it waits for an approval or an answer. */
export function endOf({ status = 'done', error, approval_ids = [], question_ids = [] }: End): string {
  if (error?.detail) return `${status}: ${error.detail}`
  if (approval_ids.length > 0) return `${status}: decide with svc approve ${approval_ids.join(', ')}`
  if (question_ids.length > 0) return `${status}: see svc questions, then svc answer ${question_ids[0]} <answer>`
  return String(status)
}

/** Returns the end of the task that an event reports; undefined when more events follow. */
export function endIn({ event, data }: StreamEvent): End | undefined {
  if (event === 'done') return data as End
  if (event !== 'error') return undefined
  const error = data as { detail?: string; task?: End }
  return error.task ?? { status: 'failed', error }
}
