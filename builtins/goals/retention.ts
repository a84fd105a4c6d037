import type { PluginHandle } from '#kernel'
import { forgets } from '../retention/contract.ts'

/** What of this room may go: the journal of what was done for goals that have ended. The goals stay. */
export function goalsForget(svc: PluginHandle): void {
  forgets(svc, {
    name: 'tool_calls',
    key: 'call_id',
    where: `ended_at < ? AND task_id IS NULL AND NOT EXISTS
      (SELECT 1 FROM goals g WHERE g.goal_id = tool_calls.goal_id AND g.status = 'active')`,
  })
}
