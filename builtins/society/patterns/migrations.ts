/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '010-a2a': `
CREATE TABLE a2a_patterns (
  pattern_id TEXT PRIMARY KEY, name TEXT NOT NULL, initiator TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  participants TEXT NOT NULL, task TEXT NOT NULL, rounds INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'running',
  result TEXT, created_at INTEGER NOT NULL, deadline INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX patterns_running ON a2a_patterns (deadline) WHERE status = 'running';
CREATE INDEX patterns_by_time ON a2a_patterns (created_at);
`,
  '016-society': `
-- null: no limit. What was spent is written when it ends.
ALTER TABLE a2a_patterns ADD COLUMN max_micros INTEGER;
ALTER TABLE a2a_patterns ADD COLUMN max_tokens INTEGER;
ALTER TABLE a2a_patterns ADD COLUMN spent_micros INTEGER NOT NULL DEFAULT 0;
ALTER TABLE a2a_patterns ADD COLUMN spent_tokens INTEGER NOT NULL DEFAULT 0;
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW a2a_patterns_view AS SELECT pattern_id, name, status, created_at FROM a2a_patterns;
`,
  '066-agents-index': `
CREATE INDEX patterns_by_initiator ON a2a_patterns (initiator);
`,
}
