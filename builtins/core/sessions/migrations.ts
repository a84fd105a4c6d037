import { childTable } from '#lib/child-table'

const sessions = childTable(
  'sessions',
  `session_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, task TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'running', started_at INTEGER NOT NULL, completed_at INTEGER,
    input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, duration_ms INTEGER NOT NULL DEFAULT 0,
    user_id TEXT NOT NULL DEFAULT 'default', session_key TEXT, created_at INTEGER NOT NULL, last_active INTEGER NOT NULL,
    metadata TEXT`,
)

/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '001-first': sessions.created,
  '002-cascading-deletes': sessions.cascading,
  '004-tasks': `
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
`,
  '012-sub-agents': `
CREATE INDEX sessions_by_end ON sessions (completed_at) WHERE status <> 'running';
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW sessions_view AS SELECT session_id, agent_id, task, status, started_at, created_at FROM sessions;
`,
}
