import type { PluginHandle } from '#kernel'
import { addRetentionRule, RetentionRules } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { countIdle } from './repository.ts'
import type { SessionBook } from './sessions.ts'

/**
 * Removes ended sessions whose tasks are already removed. Each task without a session makes one of its own, which no
 * request ends: these expire with age.
 */
export function sessionsForget(svc: PluginHandle, book: SessionBook): void {
  svc.add(RetentionRules, {
    name: 'expired_sessions',
    stage: -10,
    count: before => countIdle(svc.use(Store), book.idleBefore, before),
    // A single statement that removes no rows.
    piece: async (before, limit) => Math.min(await book.expire(before), limit - 1),
  })
  addRetentionRule(svc, {
    name: 'sessions',
    key: 'session_id',
    stage: 10,
    where: `status <> 'running' AND coalesce(completed_at, last_active) < ? AND NOT EXISTS (SELECT 1 FROM task_runs_view t
      WHERE t.session_id = sessions.session_id AND (t.ended_at IS NULL OR t.ended_at >= ?))`,
  })
}
