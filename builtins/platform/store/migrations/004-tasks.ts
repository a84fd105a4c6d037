/** One-shot tasks with what they said and did, and sessions that count what their tasks cost. */
export const tasks = `
-- A user has at most one running session by each key: the newest of those that older versions let be.
UPDATE sessions SET status = 'closed' WHERE status = 'completed';
UPDATE sessions SET status = 'closed', completed_at = last_active WHERE status = 'running' AND session_key IS NOT NULL AND EXISTS
  (SELECT 1 FROM sessions newer WHERE newer.user_id = sessions.user_id AND newer.session_key = sessions.session_key
   AND newer.status = 'running' AND (newer.created_at > sessions.created_at
     OR newer.created_at = sessions.created_at AND newer.session_id > sessions.session_id));
ALTER TABLE sessions ADD COLUMN cost_micros INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX sessions_by_key ON sessions (user_id, session_key) WHERE status = 'running';
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_idle ON sessions (last_active) WHERE status = 'running';
CREATE INDEX sessions_by_agent ON sessions (agent_id);

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

ALTER TABLE tool_calls ADD COLUMN task_id TEXT;
CREATE INDEX tool_calls_by_task ON tool_calls (task_id, started_at) WHERE task_id IS NOT NULL;
`
