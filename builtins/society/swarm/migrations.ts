/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '016-society': `
-- One row for each goal that has ended, in the order in which they did.
CREATE TABLE specialization_records (
  seq INTEGER PRIMARY KEY, goal_id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, task_type TEXT NOT NULL, success INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL, steps INTEGER NOT NULL, tools TEXT NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE INDEX specialization_by_agent ON specialization_records (agent_id, seq);

CREATE TABLE swarm_reports (
  report_id TEXT PRIMARY KEY, beat INTEGER NOT NULL UNIQUE, policy TEXT NOT NULL, report TEXT NOT NULL,
  created_at INTEGER NOT NULL, reverted_at INTEGER
) STRICT;

-- topic: what it is about, so that the same is not done twice. detail: JSON, what it does and what undoes it.
CREATE TABLE swarm_effects (
  effect_id TEXT PRIMARY KEY, report_id TEXT NOT NULL REFERENCES swarm_reports (report_id) ON DELETE CASCADE,
  kind TEXT NOT NULL, topic TEXT NOT NULL, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  detail TEXT NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX swarm_effects_by_report ON swarm_effects (report_id);
CREATE INDEX swarm_effects_by_agent ON swarm_effects (agent_id, status);
CREATE UNIQUE INDEX swarm_effects_once ON swarm_effects (kind, topic, agent_id) WHERE status NOT IN ('ended', 'lifted');
`,
}
