/** A deliberate fault: a statement of the program, and what replaces it. */
export interface BrokenBuild {
  name: string
  /** Number of seeds within which it is found; chosen so that one in a hundred changes of the program misses it. */
  within: number
  statement: RegExp
  instead: string
  /** Level of faults; `some` by default. */
  faults?: 'many'
}

export const BROKEN_BUILDS: readonly BrokenBuild[] = [
  // Found when a process ends or the disk fails between two statements: one seed in nine.
  { name: 'a skipped transaction', within: 40, faults: 'many', statement: /^BEGIN IMMEDIATE$/, instead: '' },
  {
    name: 'a lost wake',
    within: 20,
    statement: /min\(run_at, max\(\?, rested_at\)\)/,
    instead: 'CASE WHEN ? IS NULL THEN 0 ELSE run_at END',
  },
  // Found by one seed in 170: calls of one answer run one after another, so only other processes race.
  {
    name: 'a double take of an approval',
    within: 300,
    statement: /(UPDATE approvals SET status = 'consumed'[\s\S]*) AND status = 'approved'$/,
    instead: '$1',
  },
  {
    name: 'a pause that the schedule does not see',
    within: 10,
    statement: / AND NOT EXISTS \(SELECT 1 FROM agents_view a WHERE a\.agent_id = leases\.agent_id AND \(a\.paused_at/,
    instead:
      ' AND NOT EXISTS (SELECT 1 FROM agents_view a WHERE false AND a.agent_id = leases.agent_id AND (a.paused_at',
  },
  {
    name: 'a transcript that outlives its goal',
    within: 10,
    statement: /^UPDATE goal_transcripts SET ended_at = \? WHERE goal_id = \?/,
    instead: 'UPDATE goal_transcripts SET ended_at = ? WHERE goal_id = ? AND false',
  },
  {
    name: 'an outcome that is not journalled',
    within: 10,
    statement: /^UPDATE tool_calls SET state = 'done', outcome = \?/,
    instead: "UPDATE tool_calls SET state = 'done', outcome = iif(? IS NULL, '', NULL)",
  },
]
