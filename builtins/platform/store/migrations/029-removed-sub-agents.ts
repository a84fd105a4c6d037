/**
 * What outlives a sub-agent that retention removes: its name and role beside its result, and its transcripts.
 * A transcript belongs to an agent and goes with it: `agent_id` is whose goal it was, or the agent at the top of one that was removed.
 */
export const removedSubAgents = `
ALTER TABLE sub_agents ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE sub_agents ADD COLUMN role TEXT NOT NULL DEFAULT '';
UPDATE sub_agents SET name = coalesce((SELECT name FROM agents a WHERE a.agent_id = sub_agents.sub_agent_id), ''),
  role = coalesce((SELECT role FROM agents a WHERE a.agent_id = sub_agents.sub_agent_id), '');
CREATE INDEX sub_agents_by_end ON sub_agents (completed_at) WHERE status <> 'running';

CREATE TABLE transcripts_moved (
  goal_id TEXT NOT NULL, seq INTEGER NOT NULL, message TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO transcripts_moved (goal_id, seq, message, created_at, ended_at, agent_id)
  SELECT e.goal_id, e.seq, e.message, e.created_at, e.ended_at, g.agent_id FROM ended_transcripts e JOIN goals g ON g.goal_id = e.goal_id;
DROP TABLE ended_transcripts;
ALTER TABLE transcripts_moved RENAME TO ended_transcripts;
CREATE INDEX ended_transcripts_by_end ON ended_transcripts (ended_at);
CREATE INDEX ended_transcripts_by_agent ON ended_transcripts (agent_id);
`
