/** Messages between agents, how far their mailboxes are read, what was delegated to whom, and patterns that run. */
export const a2a = `
-- to_agent is null for the operator; taken_from is the mailbox in which somebody else wrote it. A message goes with its recipient; what it said stays with others when its sender goes.
CREATE TABLE a2a_messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, from_agent TEXT NOT NULL,
  to_agent TEXT REFERENCES agents (agent_id) ON DELETE CASCADE, subject TEXT NOT NULL, body TEXT NOT NULL, reply_to TEXT,
  thread_id TEXT NOT NULL, priority INTEGER NOT NULL, expects_reply INTEGER NOT NULL, metadata TEXT NOT NULL,
  pattern_id TEXT, taken_from TEXT, created_at INTEGER NOT NULL, read_at INTEGER
) STRICT;
CREATE INDEX a2a_inbox ON a2a_messages (to_agent, seq);
CREATE INDEX a2a_outbox ON a2a_messages (from_agent, seq);
CREATE INDEX a2a_unread ON a2a_messages (to_agent, priority DESC, seq) WHERE read_at IS NULL;
CREATE INDEX a2a_threads ON a2a_messages (thread_id, seq);
CREATE INDEX a2a_replies ON a2a_messages (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX a2a_by_pattern ON a2a_messages (pattern_id, seq) WHERE pattern_id IS NOT NULL;
CREATE INDEX a2a_by_time ON a2a_messages (created_at);

-- Up to which byte of which file a mailbox has been taken in.
CREATE TABLE a2a_mailboxes (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, box TEXT NOT NULL, inode INTEGER NOT NULL,
  taken INTEGER NOT NULL, PRIMARY KEY (agent_id, box)
) STRICT, WITHOUT ROWID;

-- It outlives whom it was given to, so that who gave it hears of that; from_agent is null for one that is no agent.
CREATE TABLE delegations (
  delegation_id TEXT PRIMARY KEY, message_id TEXT NOT NULL UNIQUE,
  from_agent TEXT REFERENCES agents (agent_id) ON DELETE CASCADE, to_agent TEXT NOT NULL, from_goal_id TEXT,
  goal_id TEXT NOT NULL, objective TEXT NOT NULL, waits INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'pending',
  result TEXT, created_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX delegations_by_goal ON delegations (goal_id);
CREATE INDEX delegations_given ON delegations (from_agent, created_at);
CREATE INDEX delegations_taken ON delegations (to_agent, created_at);
CREATE INDEX delegations_pending ON delegations (goal_id) WHERE status = 'pending';

CREATE TABLE a2a_patterns (
  pattern_id TEXT PRIMARY KEY, name TEXT NOT NULL, initiator TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  participants TEXT NOT NULL, task TEXT NOT NULL, rounds INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'running',
  result TEXT, created_at INTEGER NOT NULL, deadline INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX patterns_running ON a2a_patterns (deadline) WHERE status = 'running';
CREATE INDEX patterns_by_time ON a2a_patterns (created_at);
`
