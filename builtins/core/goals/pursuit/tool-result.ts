import type { Message } from '#core/models/contract'
import type { PlannedCall } from '#core/runtime/contract'
import type { Effect, z } from '#kernel'
import { appendEvent } from '#platform/store/contract'
import type { ToolResult } from '../contract.ts'

/** Returns the event of a tool call's end, for the commit that records its outcome. */
export function toolResult(
  whose: { agent_id: string; goal_id: string | null; cycle_num?: number; run_id?: string | null },
  call: PlannedCall,
  message: Message,
  duration: number,
  ran = true,
): Effect {
  const { agent_id, goal_id, cycle_num, run_id } = whose
  const data: z.infer<typeof ToolResult> = {
    agent_id,
    goal_id,
    tool: call.name,
    ok: !message.is_error,
    ...(ran ? {} : { ran }),
    call_id: call.call_id,
    step: call.step,
    arguments: cut(JSON.stringify(call.arguments) ?? '', LONGEST_ARGUMENTS),
    output: cut(message.content, LONGEST_OUTPUT),
    duration_ms: Math.max(0, Math.round(duration)),
  }
  return appendEvent({ type: 'tool_result', agent_id, cycle_num, run_id, data })
}

function cut(text: string, longest: number): string {
  // Half of a surrogate pair is not valid text.
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…` : text
}

const LONGEST_ARGUMENTS = 1_000

const LONGEST_OUTPUT = 500
