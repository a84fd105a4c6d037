/**
 * What was said for goals that have ended, until retention removes it.
 * `said` and `refused`: why an agent that rests has no goal, in words of its model, and the objective that was refused.
 */
export const endedTranscripts = `
CREATE TABLE ended_transcripts (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, seq INTEGER NOT NULL, message TEXT NOT NULL,
  created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX ended_transcripts_by_end ON ended_transcripts (ended_at);

ALTER TABLE idle_agents ADD COLUMN said TEXT;
ALTER TABLE idle_agents ADD COLUMN refused TEXT;
`
