/** Approvals that are edited, used and granted in advance; goals that wait for their subgoals; idle agents that back off. */
export const approvals = `
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

-- When the parent's model was told how a subgoal ended.
ALTER TABLE goals ADD COLUMN told_at INTEGER;

-- Why the last cycle did not do what it was there for, such as the guard that kept it from that.
ALTER TABLE agents ADD COLUMN held_by TEXT;
-- How often it was woken, ever.
ALTER TABLE leases ADD COLUMN wakes INTEGER NOT NULL DEFAULT 0;

-- An agent whose model found nothing to do is not asked again before ask_again_at, unless its world is another or it was woken
-- since: wakes is the count of its lease when its model was asked.
CREATE TABLE idle_agents (
  agent_id TEXT PRIMARY KEY REFERENCES agents (agent_id) ON DELETE CASCADE, times INTEGER NOT NULL, world TEXT NOT NULL,
  wakes INTEGER NOT NULL, asked_at INTEGER NOT NULL, ask_again_at INTEGER NOT NULL
) STRICT;
`
