/** Statements with which other modules may change questions. */
import type { Statement } from '#platform/store/contract'

/** Removes the open questions of these calls. @param calls query that selects their ids */
export function withdrawQuestions({ sql, params = [] }: Statement): Statement {
  return { sql: `DELETE FROM questions WHERE answered_at IS NULL AND call_id IN (${sql})`, params }
}
