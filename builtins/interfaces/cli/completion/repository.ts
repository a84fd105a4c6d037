/** Maximum number of candidates: more do not help the reader. */
const MAX_WORDS = 200

/** Candidates of each kind: an id as `word`, and its description as `about`. */
export const QUERIES = {
  agents: `SELECT agent_id AS word, role AS about FROM agents_view WHERE died_at IS NULL ORDER BY spawned_at LIMIT ${MAX_WORDS}`,
  approvals: `SELECT approval_id AS word, tool_name || ' ' || agent_id AS about FROM approvals_view WHERE status = 'pending' ORDER BY created_at LIMIT ${MAX_WORDS}`,
  goals: `SELECT goal_id AS word, objective AS about FROM goals_view WHERE status = 'active' ORDER BY created_at DESC LIMIT ${MAX_WORDS}`,
  sessions: `SELECT session_id AS word, agent_id || ' ' || task AS about FROM sessions_view WHERE status = 'running' ORDER BY started_at DESC LIMIT ${MAX_WORDS}`,
  tasks: `SELECT task_id AS word, instruction AS about FROM task_runs_view ORDER BY created_at DESC LIMIT ${MAX_WORDS}`,
  runs: `SELECT run_id AS word, kind AS about FROM runs_view ORDER BY started_at DESC LIMIT ${MAX_WORDS}`,
  schedules: `SELECT schedule_id AS word, objective AS about FROM schedules_view ORDER BY agent_id LIMIT ${MAX_WORDS}`,
  alarms: `SELECT alarm_id AS word, description AS about FROM alarms_view WHERE status = 'pending' ORDER BY fire_at LIMIT ${MAX_WORDS}`,
  models: `SELECT DISTINCT model AS word, '' AS about FROM spend_view ORDER BY model LIMIT ${MAX_WORDS}`,
} as const

/** Names of all agents, for the log, whose lines have ids. */
export const AGENT_NAMES = 'SELECT agent_id, name FROM agents_view'
