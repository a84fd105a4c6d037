/** What the writes of other modules may do to runs. */
import type { Statement } from '#platform/store/contract'

/** Makes the open runs of one process those of another. */
export function moveOpenRuns(from: number, pid: number): Statement {
  return { sql: 'UPDATE runs SET pid = ? WHERE pid = ? AND ended_at IS NULL', params: [pid, from] }
}
