/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '010-a2a': `
-- to_agent is null for the operator; taken_from is the mailbox in which another program wrote it. A message goes with its recipient; what it said stays with others when its sender goes.
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
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW a2a_messages_view AS SELECT seq, message_id, type, from_agent, to_agent, subject, body, reply_to, thread_id,
  priority, expects_reply, metadata, pattern_id, created_at FROM a2a_messages;
`,
}
