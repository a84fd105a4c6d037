import type { PluginHandle } from '#kernel'
import { forgets } from '../retention/contract.ts'
import { AMONG, listed } from '../store/contract.ts'

/** What of this room may go: tasks of sessions that ended, with all that was said and done in them. */
export function tasksForget(svc: PluginHandle): void {
  forgets(svc, {
    name: 'task_runs',
    key: 'task_id',
    where: "ended_at < ? AND session_id IN (SELECT session_id FROM sessions WHERE status <> 'running')",
    also: keys => [{ sql: `DELETE FROM tool_calls WHERE task_id ${AMONG}`, params: [listed(keys)] }],
  })
}
