/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '004-tasks': `
-- A process that runs a task holds its row by (owner, epoch) until lease_until; a detached one goes on without its client.
CREATE TABLE task_runs (
  task_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  session_id TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE, user_id TEXT NOT NULL,
  instruction TEXT NOT NULL, max_steps INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'running',
  output TEXT NOT NULL DEFAULT '', error TEXT, approval_ids TEXT NOT NULL DEFAULT '[]', text TEXT NOT NULL DEFAULT 'none',
  steps_taken INTEGER NOT NULL DEFAULT 0, tool_calls_made INTEGER NOT NULL DEFAULT 0, cost_micros INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, duration_ms INTEGER NOT NULL DEFAULT 0,
  request_id TEXT NOT NULL, idempotency_key TEXT, request_hash TEXT NOT NULL, detached INTEGER NOT NULL DEFAULT 0,
  interruptions INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 1, lease_until INTEGER NOT NULL,
  created_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX task_runs_by_key ON task_runs (user_id, agent_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_runs_by_agent ON task_runs (agent_id, user_id, created_at);
CREATE INDEX task_runs_by_session ON task_runs (session_id, created_at);
CREATE INDEX task_runs_open ON task_runs (status, lease_until) WHERE status IN ('running', 'waiting_approval');

CREATE TABLE task_messages (
  task_id TEXT NOT NULL REFERENCES task_runs (task_id) ON DELETE CASCADE, seq INTEGER NOT NULL, v INTEGER NOT NULL DEFAULT 1,
  message TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

-- What was shown of a task's answers as they came, in pieces; until is the place after a piece, in UTF-16 units.
CREATE TABLE task_texts (
  task_id TEXT NOT NULL REFERENCES task_runs (task_id) ON DELETE CASCADE, until INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (task_id, until)
) STRICT, WITHOUT ROWID;
`,
  '012-sub-agents': `
CREATE INDEX task_runs_by_end ON task_runs (ended_at) WHERE ended_at IS NOT NULL;
`,
  /** JSON Schema of a task's answer, and the parsed answer, both as JSON. */
  '017-structured-tasks': `
ALTER TABLE task_runs ADD COLUMN response_schema TEXT;
ALTER TABLE task_runs ADD COLUMN parsed TEXT;
`,
  /** Model parameters of a task, as JSON; null if it sets none. */
  '032-task-parameters': `
ALTER TABLE task_runs ADD COLUMN parameters TEXT;
`,
  /** JSON array of the images in the first message of a task. */
  '033-images': `
ALTER TABLE task_runs ADD COLUMN images TEXT;
CREATE INDEX task_runs_with_images ON task_runs (agent_id) WHERE images IS NOT NULL;
CREATE INDEX task_messages_with_images ON task_messages (task_id) WHERE message LIKE '%"images":[{%';
`,
  /** Whether a task may ask its client, and the `question_ids` that it waits for, a JSON array. */
  '055-task-questions': `
ALTER TABLE task_runs ADD COLUMN may_ask INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_runs ADD COLUMN question_ids TEXT NOT NULL DEFAULT '[]';
DROP INDEX task_runs_open;
CREATE INDEX task_runs_open ON task_runs (status, lease_until)
  WHERE status IN ('running', 'waiting_approval', 'waiting_answer');
`,
  /** Names of the toolkits that were given with a task, a JSON array; null for those of the configuration. */
  '059-task-toolkits': `
ALTER TABLE task_runs ADD COLUMN toolkits TEXT;
`,
  /** `cancelled`: whether the failed task was cancelled, by its client or on request. */
  '062-cancelled-tasks': `
DROP VIEW task_runs_view;
CREATE VIEW task_runs_view AS SELECT task_id, agent_id, session_id, user_id, instruction, status, output, text, cost_micros,
  input_tokens, output_tokens, duration_ms, created_at, ended_at, CASE WHEN error LIKE '%"code":"task_cancelled"%'
  OR error LIKE '%"code":"task_stopped"%' THEN 1 ELSE 0 END AS cancelled FROM task_runs;
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW task_messages_view AS SELECT task_id, seq, message, created_at FROM task_messages;
CREATE VIEW task_runs_view AS SELECT task_id, agent_id, session_id, user_id, instruction, status, output, text, cost_micros,
  input_tokens, output_tokens, duration_ms, created_at, ended_at FROM task_runs;
`,
}
