/** Statements on runs for other modules. */
import type { Statement } from '#platform/store/contract'

/** Moves the open runs of one process to another. */
export function moveOpenRuns(from: number, pid: number): Statement {
  return { sql: 'UPDATE runs SET pid = ? WHERE pid = ? AND ended_at IS NULL', params: [pid, from] }
}
