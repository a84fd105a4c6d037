/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '003-durable-agents': `
-- The journal: an intent before a tool runs, its outcome after.
CREATE TABLE tool_calls (
  call_id TEXT PRIMARY KEY, model_call_id TEXT NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, goal_id TEXT,
  epoch INTEGER NOT NULL, step INTEGER NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, args_hash TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'started', outcome TEXT, is_error INTEGER, approval_id TEXT,
  started_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX tool_calls_by_goal ON tool_calls (goal_id, started_at);
CREATE INDEX tool_calls_by_agent ON tool_calls (agent_id, started_at);
`,
  '004-tasks': `
ALTER TABLE tool_calls ADD COLUMN task_id TEXT;
CREATE INDEX tool_calls_by_task ON tool_calls (task_id, started_at) WHERE task_id IS NOT NULL;
`,
  '008-runs': `
ALTER TABLE tool_calls ADD COLUMN run_id TEXT;
`,
  '012-sub-agents': `
CREATE INDEX tool_calls_by_end ON tool_calls (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tool_calls_by_approval ON tool_calls (approval_id) WHERE approval_id IS NOT NULL;
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW tool_calls_view AS SELECT call_id, model_call_id, agent_id, goal_id, epoch, step, tool, arguments, args_hash, state,
  outcome, is_error, approval_id, started_at, ended_at, task_id FROM tool_calls;
`,
}
