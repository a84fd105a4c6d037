/**
 * What each step of an agent writes, in fewer pages. Nobody asks for spend by its goal, and transcripts go with their goals, so
 * that they need not be found by their agents. The newest events are always kept, so a seq never comes again by itself: it need
 * not be written down beside them.
 */
export const fewerPages = `
DROP INDEX spend_by_goal;

CREATE TABLE transcripts_moved (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, seq INTEGER NOT NULL, agent_id TEXT NOT NULL,
  v INTEGER NOT NULL DEFAULT 1, message TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO transcripts_moved SELECT goal_id, seq, agent_id, v, message, created_at FROM pursuit_transcripts;
DROP TABLE pursuit_transcripts;
ALTER TABLE transcripts_moved RENAME TO pursuit_transcripts;

CREATE TABLE events_moved (
  seq INTEGER PRIMARY KEY, type TEXT NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL, agent_id TEXT,
  cycle_num INTEGER, run_id TEXT, data TEXT NOT NULL
) STRICT;
INSERT INTO events_moved SELECT seq, type, v, at, agent_id, cycle_num, run_id, data FROM events;
DROP TABLE events;
ALTER TABLE events_moved RENAME TO events;
CREATE INDEX events_by_agent ON events (agent_id, seq);
CREATE INDEX events_by_run ON events (run_id, seq) WHERE run_id IS NOT NULL;
`
