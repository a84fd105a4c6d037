/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '010-a2a': `
-- It outlives its recipient, so that the end is reported to the giver; from_agent is null for one that is no agent.
CREATE TABLE delegations (
  delegation_id TEXT PRIMARY KEY, message_id TEXT NOT NULL UNIQUE,
  from_agent TEXT REFERENCES agents (agent_id) ON DELETE CASCADE, to_agent TEXT NOT NULL, from_goal_id TEXT,
  goal_id TEXT NOT NULL, objective TEXT NOT NULL, waits INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'pending',
  result TEXT, created_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX delegations_by_goal ON delegations (goal_id);
CREATE INDEX delegations_given ON delegations (from_agent, created_at);
CREATE INDEX delegations_taken ON delegations (to_agent, created_at);
CREATE INDEX delegations_pending ON delegations (goal_id) WHERE status = 'pending';
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW delegations_view AS SELECT message_id, from_agent, to_agent, goal_id, waits, status, result, created_at, ended_at
  FROM delegations;
`,
}
