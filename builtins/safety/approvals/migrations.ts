/** DDL of this module's tables, by schema step of `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '003-durable-agents': `
CREATE TABLE approvals (
  approval_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, session_id TEXT,
  goal_id TEXT, tool_name TEXT NOT NULL, arguments TEXT NOT NULL, args_hash TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending', reason TEXT, created_at INTEGER NOT NULL, resolved_at INTEGER, resolved_by TEXT
) STRICT;
CREATE INDEX approvals_pending ON approvals (agent_id, created_at) WHERE status = 'pending';
CREATE INDEX approvals_by_call ON approvals (agent_id, tool_name, args_hash);
`,
  '005-approvals': `
-- original_arguments: what the model asked for, where something else was approved. used_by: the call that began with it.
ALTER TABLE approvals ADD COLUMN task_id TEXT;
ALTER TABLE approvals ADD COLUMN danger TEXT;
ALTER TABLE approvals ADD COLUMN original_arguments TEXT;
ALTER TABLE approvals ADD COLUMN used_at INTEGER;
ALTER TABLE approvals ADD COLUMN used_by TEXT;
CREATE INDEX approvals_by_age ON approvals (status, created_at, approval_id);
DROP INDEX approvals_by_call;

-- Identical calls of one agent, or of one task, share a request.
CREATE UNIQUE INDEX approvals_asked_once ON approvals (agent_id, tool_name, args_hash, coalesce(task_id, ''))
  WHERE status = 'pending';

CREATE TABLE approval_rules (
  rule_id TEXT PRIMARY KEY, agent_id TEXT REFERENCES agents (agent_id) ON DELETE CASCADE, tool_name TEXT NOT NULL,
  arguments TEXT, until INTEGER, uses INTEGER, used INTEGER NOT NULL DEFAULT 0, reason TEXT,
  created_at INTEGER NOT NULL, created_by TEXT NOT NULL, revoked_at INTEGER, revoked_by TEXT
) STRICT;
CREATE INDEX approval_rules_by_tool ON approval_rules (tool_name) WHERE revoked_at IS NULL;
CREATE INDEX approval_rules_by_agent ON approval_rules (agent_id);
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW approvals_view AS SELECT approval_id, agent_id, session_id, goal_id, tool_name, arguments, status, reason,
  created_at, task_id FROM approvals;
`,
  '066-agents-index': `
CREATE INDEX approvals_by_agent ON approvals (agent_id);
`,
}
