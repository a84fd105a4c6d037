/** What the writes of other modules may do to questions. */
import type { Statement } from '#platform/store/contract'

/** Removes the open questions of these calls. @param calls the query of their ids */
export function withdrawQuestions({ sql, params = [] }: Statement): Statement {
  return { sql: `DELETE FROM questions WHERE answered_at IS NULL AND call_id IN (${sql})`, params }
}
