/** How agents suffer: where each stands now, and where it stood. */
export const suffering = `
-- version: of the row, so that two writers do not lose each other's work. seq: up to which event it is told. heard_at: when
-- somebody addressed the agent last. at: up to when it was awake.
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
`
