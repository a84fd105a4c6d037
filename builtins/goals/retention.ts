import type { PluginHandle } from '#kernel'
import { forgets } from '../retention/contract.ts'

/** What of this module may go: the journal and the transcripts of goals that have ended. The goals stay. */
export function goalsForget(svc: PluginHandle): void {
  forgets(svc, {
    name: 'tool_calls',
    key: 'call_id',
    where: `ended_at < ? AND task_id IS NULL AND NOT EXISTS
      (SELECT 1 FROM goals g WHERE g.goal_id = tool_calls.goal_id AND g.status = 'active')`,
  })
  // By the first message of each: a transcript goes as a whole.
  forgets(svc, {
    name: 'ended_transcripts',
    key: 'goal_id',
    where: `ended_at < ? AND seq = (SELECT min(seq) FROM ended_transcripts f WHERE f.goal_id = ended_transcripts.goal_id)`,
  })
}
