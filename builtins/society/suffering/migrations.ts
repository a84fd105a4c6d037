/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '013-suffering': `
-- version: of the row, so that two writers do not lose each other's work. seq: up to which event it is taken in. heard_at:
-- when the agent was addressed last. at: up to when it was awake.
CREATE TABLE inner_lives (
  agent_id TEXT PRIMARY KEY REFERENCES agents (agent_id) ON DELETE CASCADE, version INTEGER NOT NULL, at INTEGER NOT NULL,
  seq INTEGER NOT NULL, heard_at INTEGER NOT NULL, state TEXT NOT NULL
) STRICT;

-- hourly: the first of its hour, which is kept when the others of a day ago are not.
CREATE TABLE suffering_history (
  moment_id INTEGER PRIMARY KEY AUTOINCREMENT, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  at INTEGER NOT NULL, hourly INTEGER NOT NULL, load REAL NOT NULL, happiness REAL NOT NULL, crisis INTEGER NOT NULL,
  mood TEXT NOT NULL, severities TEXT NOT NULL, persona TEXT NOT NULL, base TEXT NOT NULL
) STRICT;
CREATE INDEX suffering_history_by_agent ON suffering_history (agent_id, at);
CREATE INDEX suffering_history_by_time ON suffering_history (at);
`,
  /**
   * `passed`: number of skipped cycles that the inner state accounts for. `look_at`: time of the next check when no
   * event arrives first.
   */
  '019-rest': `
ALTER TABLE inner_lives ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inner_lives ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0;
`,
}
