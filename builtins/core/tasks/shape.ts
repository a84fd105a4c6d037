import { readImages } from '#core/images/contract'
import { ModelParameters } from '#core/models/contract'
import type { Problem } from '#interfaces/rest/contract'
import type { StreamEvent } from '#lib/stream'
import { isCancelled } from '#lib/task-end'
import { isoTime, usdOf } from '#platform/store/contract'
import type { Task, TaskResponse, TaskState } from './contract.ts'
import type { TaskRow } from './repository.ts'

function factsOf(row: TaskRow) {
  return {
    task_id: row.task_id,
    output: row.output,
    steps_taken: row.steps_taken,
    tool_calls_made: row.tool_calls_made,
    session_id: row.session_id,
    approval_ids: JSON.parse(row.approval_ids) as string[],
    question_ids: JSON.parse(row.question_ids) as string[],
    cost_usd: usdOf(row.cost_micros),
    tokens: row.input_tokens + row.output_tokens,
    parsed: row.parsed === null ? null : (JSON.parse(row.parsed) as Record<string, unknown>),
    error: row.error === null ? null : (JSON.parse(row.error) as Problem),
  }
}

/** Converts the row of a task that has ended or waits to the response for its caller. */
export function responseOf(row: TaskRow): TaskResponse {
  return { ...factsOf(row), status: row.status as TaskResponse['status'] }
}

/** Converts the row of a task in any state. */
export function stateOf(row: TaskRow): TaskState {
  return { ...factsOf(row), status: row.status }
}

/** Returns the last event of a task's stream: `error` when the task failed, else `done`, also when it was cancelled. */
export function endOf(row: TaskRow): StreamEvent {
  const task = responseOf(row)
  const { error } = task
  if (error === null || isCancelled(task)) return { event: 'done', data: task }
  return { event: 'error', data: { ...error, task } }
}

export function taskOf(row: TaskRow): Task {
  const { status, agent_id, instruction, max_steps, duration_ms, created_at, ended_at } = row
  return {
    ...factsOf(row),
    status,
    agent_id,
    instruction,
    max_steps,
    duration_ms,
    images: readImages(row.images),
    parameters: parametersIn(row) ?? null,
    toolkits: toolkitsIn(row) ?? null,
    response_schema: row.response_schema === null ? null : (JSON.parse(row.response_schema) as Record<string, unknown>),
    created_at: isoTime(created_at),
    ended_at: isoTime(ended_at),
  }
}

/** Returns the parameters that a task was given for its model. */
export function parametersIn({ parameters }: Pick<TaskRow, 'parameters'>): ModelParameters | undefined {
  return parameters === null ? undefined : ModelParameters.parse(JSON.parse(parameters))
}

/** Returns the names of the toolkits that a task was given. */
export function toolkitsIn({ toolkits }: Pick<TaskRow, 'toolkits'>): string[] | undefined {
  return toolkits === null ? undefined : (JSON.parse(toolkits) as string[])
}
