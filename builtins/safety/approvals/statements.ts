/** Statements with which other modules may change approval requests. */
import type { Statement } from '#platform/store/contract'

/** Denies the pending requests of these calls. @param calls query that selects their ids */
export function denyRequests(
  { sql, params = [] }: Statement,
  { reason, resolved_by }: { reason: string; resolved_by: string },
  now: number,
): Statement {
  return {
    sql: `UPDATE approvals SET status = 'denied', reason = ?, resolved_at = ?, resolved_by = ?
          WHERE status = 'pending' AND approval_id IN (SELECT approval_id FROM tool_calls_view WHERE call_id IN (${sql}))`,
    params: [reason, now, resolved_by, ...params],
  }
}
