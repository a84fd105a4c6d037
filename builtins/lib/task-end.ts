import { pluralize } from './pluralize.ts'

/** A task that has ended or waits, as far as its end is described. */
export interface TaskEnd {
  task_id?: string
  status?: string
  output?: string
  error?: { code?: string; detail?: string } | null
  approval_ids?: string[]
  question_ids?: string[]
  session_id?: string
  steps_taken?: number
  tool_calls_made?: number
}

/** Codes of the errors of cancelled tasks. */
const CANCELLED: readonly (string | undefined)[] = ['task_cancelled', 'task_stopped']

/** Returns whether a task was cancelled, by its client or on request: its status is `failed`, and its error says so. */
export function isCancelled({ error }: Pick<TaskEnd, 'error'>): boolean {
  return CANCELLED.includes(error?.code)
}

/** Returns the status of a task for people. */
export function shownStatus(task: Pick<TaskEnd, 'error'> & { status: string }): string {
  return isCancelled(task) ? 'cancelled' : task.status
}

/** Describes how a task ended: why it has no answer, and what to do where it waits or can be continued. */
export function describeTaskEnd(end: TaskEnd): string {
  const { status = 'done', error, approval_ids = [], question_ids = [], session_id, task_id } = end
  const { steps_taken = 0, tool_calls_made = 0 } = end
  if (error?.detail) return `${shownStatus({ status, error })}: ${error.detail}`
  if (approval_ids.length > 0)
    return [
      `${status}: decide with`,
      ...approval_ids.map(id => `  svc approve ${id}   or   svc deny ${id}   (see the call: svc approvals show ${id})`),
      `Then read on with: svc task follow ${task_id}; without a daemon: svc task resume ${task_id}`,
    ].join('\n')
  if (question_ids.length > 0)
    return `${status}: read the question with svc questions, then answer it with svc answer ${question_ids[0]} <answer>`
  if (status !== 'max_steps') return status
  const done = `${pluralize(steps_taken, 'step')} and ${pluralize(tool_calls_made, 'tool call')}`
  return `${status}: the task ended without an answer after ${done}; its session remembers them. Continue it with: svc run <agent> "Go on." --session-id ${session_id}`
}
