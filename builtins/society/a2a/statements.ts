/** Message statements that other modules may add to their writes. */
import type { Statement } from '#platform/store/contract'

/** Marks the unread messages of a pattern that expect a reply as read. */
export function withdrawMessages(pattern_id: string, now: number): Statement {
  return {
    sql: 'UPDATE a2a_messages SET read_at = ? WHERE pattern_id = ? AND read_at IS NULL AND expects_reply = 1',
    params: [now, pattern_id],
  }
}
