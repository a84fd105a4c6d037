/** Message statements that other modules may add to their writes. */
import type { Statement } from '#platform/store/contract'

/** Marks the unanswered messages of a pattern as read, and as expecting no answer any more. */
export function withdrawMessages(pattern_id: string, now: number): Statement {
  return {
    sql: `UPDATE a2a_messages SET read_at = coalesce(read_at, ?), expects_reply = 0 WHERE pattern_id = ? AND expects_reply = 1
          AND NOT EXISTS (SELECT 1 FROM a2a_messages r WHERE r.reply_to = a2a_messages.message_id)`,
    params: [now, pattern_id],
  }
}
