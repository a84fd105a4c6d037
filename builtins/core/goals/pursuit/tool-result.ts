import type { Message } from '#core/models/contract'
import type { PlannedCall } from '#core/runtime/contract'
import type { Effect, z } from '#kernel'
import { appendEvent } from '#platform/store/contract'
import type { ToolResult } from '../contract.ts'

type Result = z.infer<typeof ToolResult>

/** Returns the event of a tool call's end, for the commit that records its outcome. */
export function toolResult(
  whose: { agent_id: string; goal_id: string | null; cycle_num?: number; run_id?: string | null },
  call: PlannedCall,
  message: Message,
  duration: number,
  ran = true,
): Effect {
  const { agent_id, goal_id, cycle_num, run_id } = whose
  const duration_ms = Math.max(0, Math.round(duration))
  const data: Result = { agent_id, goal_id, ...resultOf(call, message, ran), duration_ms }
  return appendEvent({ type: 'tool_result', agent_id, cycle_num, run_id, data })
}

/** Returns what such events say of a call and its end. */
export function resultOf(
  call: PlannedCall,
  message: Message,
  ran = true,
): Omit<Result, 'agent_id' | 'goal_id' | 'duration_ms'> {
  return {
    tool: call.name,
    ok: !message.is_error,
    ...(ran ? {} : { ran }),
    call_id: call.call_id,
    step: call.step,
    arguments: shortArguments(call.arguments),
    output: cut(message.content, LONGEST_OUTPUT),
  }
}

/** Returns the arguments of a call as JSON, cut to a maximum length. */
export function shortArguments(args: unknown): string {
  return cut(JSON.stringify(args) ?? '', LONGEST_ARGUMENTS)
}

function cut(text: string, longest: number): string {
  // Half of a surrogate pair is not valid text.
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…` : text
}

const LONGEST_ARGUMENTS = 1_000

const LONGEST_OUTPUT = 500
