import type { Problem } from '../rest/contract.ts'
import { isoTime, usdOf } from '../store/contract.ts'
import type { Task, TaskResponse } from './contract.ts'
import type { TaskRow } from './repository.ts'

function factsOf(row: TaskRow) {
  return {
    task_id: row.task_id,
    output: row.output,
    steps_taken: row.steps_taken,
    tool_calls_made: row.tool_calls_made,
    session_id: row.session_id,
    approval_ids: JSON.parse(row.approval_ids) as string[],
    cost_usd: usdOf(row.cost_micros),
    tokens: row.input_tokens + row.output_tokens,
    parsed: row.parsed === null ? null : (JSON.parse(row.parsed) as Record<string, unknown>),
    error: row.error === null ? null : (JSON.parse(row.error) as Problem),
  }
}

/** A task that does not run any more, as the answer to who asked for it. */
export function responseOf(row: TaskRow): TaskResponse {
  return { ...factsOf(row), status: row.status as TaskResponse['status'] }
}

export function taskOf(row: TaskRow): Task {
  const { status, agent_id, instruction, max_steps, duration_ms, created_at, ended_at } = row
  return {
    ...factsOf(row),
    ...{ status, agent_id, instruction, max_steps, duration_ms },
    response_schema: row.response_schema === null ? null : (JSON.parse(row.response_schema) as Record<string, unknown>),
    created_at: isoTime(created_at),
    ended_at: ended_at === null ? null : isoTime(ended_at),
  }
}
