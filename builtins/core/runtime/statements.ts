/** Statements by which other modules may write to the journal of tool calls, and the query for open ones. */
import type { Message } from '#core/models/contract'
import { z } from '#kernel'
import {
  AMONG,
  type Condition,
  defineEffect,
  jsonList,
  RUN_OF,
  type Statement,
  type Store,
} from '#platform/store/contract'

/** A planned call, as first recorded in the journal. */
export const CallIntent = z.object({
  call_id: z.string(),
  id: z.string(),
  name: z.string(),
  arguments: z.unknown(),
  args_hash: z.string(),
  step: z.number(),
  /** `planned` calls start once the gate permits it. */
  state: z.enum(['planned', 'started']),
})
export type CallIntent = z.infer<typeof CallIntent>

/** Owner of a call. For goals, the run is the daemon's current one; for tasks, it is passed in. */
type CallOwner = { agent_id: string; epoch: number } & (
  | { goal_id: string }
  | { task_id: string; run_id: string | null }
)

/** Records a call before it runs. */
export function insertCall(owner: CallOwner, intent: CallIntent, now: number): Statement {
  const { call_id, id, name, args_hash, step, state } = intent
  const [column, of] = 'goal_id' in owner ? ['goal_id', owner.goal_id] : ['task_id', owner.task_id]
  const run = 'goal_id' in owner ? { sql: RUN_OF, id: null } : { sql: '?', id: owner.run_id }
  return {
    sql: `INSERT INTO tool_calls (call_id, model_call_id, agent_id, ${column}, epoch, step, tool, arguments, args_hash,
          state, started_at, run_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${run.sql})`,
    params: [
      call_id,
      id,
      owner.agent_id,
      of,
      owner.epoch,
      step,
      name,
      JSON.stringify(intent.arguments) ?? 'null',
      args_hash,
      state,
      now,
      run.id,
    ],
  }
}

/** Records a call's outcome. */
export function endCall(call_id: string, { content, is_error }: Message, now: number): Statement {
  return {
    sql: "UPDATE tool_calls SET state = 'done', outcome = ?, is_error = ?, ended_at = ? WHERE call_id = ?",
    params: [content, is_error ?? false, now, call_id],
  }
}

/** Marks a call as waiting for an approval, if the condition holds and the call has not ended. */
export function parkCallFor(approval_id: string, call_id: string, { where, params }: Condition): Statement {
  return {
    sql: `UPDATE tool_calls SET state = 'parked', approval_id = ? WHERE call_id = ? AND state <> 'done' AND ${where}`,
    params: [approval_id, call_id, ...params],
  }
}

/** Marks a call as waiting, if it has not ended. */
export function parkCall(call_id: string): Statement {
  return { sql: "UPDATE tool_calls SET state = 'parked' WHERE call_id = ? AND state <> 'done'", params: [call_id] }
}

/** Sets calls that did not begin back to planned. */
function planCalls(call_ids: readonly string[]): Statement {
  return {
    sql: `UPDATE tool_calls SET state = 'planned' WHERE call_id ${AMONG} AND state = 'started'`,
    params: [jsonList(call_ids)],
  }
}

/** Returns the effects by which a module leaves calls of an answer for a later run, and begins them then. */
export function laterCalls(module: string) {
  return {
    deferCalls: defineEffect({
      name: `${module}.defer_calls`,
      schema: z.object({ call_ids: z.array(z.string()) }),
      statements: ({ call_ids }) => planCalls(call_ids),
    }),
    beginDeferredCall: defineEffect({
      name: `${module}.begin_deferred_call`,
      schema: z.object({ call_id: z.string() }),
      statements: ({ call_id }, now) => startCall(call_id, 'planned', now),
    }),
  }
}

/** Attaches a decision to a call that has not ended. */
export function attachApproval(approval_id: string, call_id: string): Statement {
  return {
    sql: "UPDATE tool_calls SET approval_id = ? WHERE call_id = ? AND state <> 'done'",
    params: [approval_id, call_id],
  }
}

/** Starts a call that was planned or waiting. */
export function startCall(call_id: string, from: 'planned' | 'parked', now: number): Statement {
  return {
    sql: "UPDATE tool_calls SET state = 'started', started_at = ? WHERE call_id = ? AND state = ?",
    params: [now, call_id, from],
  }
}

/**
 * Starts a call with its approval.
 * @param approved selects the approved arguments and their hash
 */
export function startApprovedCall(approval_id: string, call_id: string, approved: Statement, now: number): Statement {
  return {
    sql: `UPDATE tool_calls SET state = 'started', started_at = ?, approval_id = ?, (arguments, args_hash) = (${approved.sql})
          WHERE call_id = ? AND state <> 'done'`,
    params: [now, approval_id, ...(approved.params ?? []), call_id],
  }
}

/** Selects the unfinished calls of a goal, except those open when a checkpoint was taken, by the model's ids. */
export function callsSince(goal_id: string, open: readonly string[]): Condition {
  return { where: `goal_id = ? AND state <> 'done' AND model_call_id NOT ${AMONG}`, params: [goal_id, jsonList(open)] }
}

/** Ends the selected calls with this outcome. */
export function closeCalls({ where, params }: Condition, outcome: string, now: number): Statement {
  return {
    sql: `UPDATE tool_calls SET state = 'done', outcome = ?, is_error = 1, ended_at = ? WHERE ${where}`,
    params: [outcome, now, ...params],
  }
}

/** Deletes the calls of tasks. */
export function deleteTaskCalls(task_ids: readonly string[]): Statement {
  return { sql: `DELETE FROM tool_calls WHERE task_id ${AMONG}`, params: [jsonList(task_ids)] }
}

/** Returns the calls of a goal or task that have no outcome yet. */
export async function unansweredCalls(store: Store, owner: 'goal_id' | 'task_id', id: string) {
  const rows = await store.all<{ model_call_id: string; call_id: string; state: string }>(
    `SELECT model_call_id, call_id, state FROM tool_calls_view WHERE ${owner} = ? AND state <> 'done' ORDER BY started_at, call_id`,
    [id],
  )
  return {
    /** Ids of the calls, by the ids that the model gave them. */
    unanswered: new Map(rows.map(row => [row.model_call_id, row.call_id])),
    /** Ids of those that have not started. */
    waiting: new Set(rows.filter(({ state }) => state !== 'started').map(({ call_id }) => call_id)),
    planned: new Set(rows.filter(({ state }) => state === 'planned').map(({ call_id }) => call_id)),
  }
}
