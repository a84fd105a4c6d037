/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '014-identity': `
-- seq: up to which event the narrative tells. entries and since: of the narrative, which becomes a chapter when it is full.
CREATE TABLE identities (
  agent_id TEXT PRIMARY KEY REFERENCES agents (agent_id) ON DELETE CASCADE, seq INTEGER NOT NULL DEFAULT 0,
  narrative TEXT NOT NULL DEFAULT '', entries INTEGER NOT NULL DEFAULT 0, since INTEGER, until INTEGER,
  first_line TEXT NOT NULL DEFAULT '', last_line TEXT NOT NULL DEFAULT '', worldview TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE identity_chapters (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, n INTEGER NOT NULL, summary TEXT NOT NULL,
  entry_count INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL, PRIMARY KEY (agent_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE identity_opinions (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, domain TEXT NOT NULL, opinion TEXT NOT NULL,
  formed_at INTEGER NOT NULL, PRIMARY KEY (agent_id, domain)
) STRICT, WITHOUT ROWID;

CREATE TABLE identity_questions (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, question_id TEXT NOT NULL, question TEXT NOT NULL,
  asked_at INTEGER NOT NULL, PRIMARY KEY (agent_id, question_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE identity_notes (
  note_id INTEGER PRIMARY KEY AUTOINCREMENT, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  at INTEGER NOT NULL, kind TEXT NOT NULL, note TEXT NOT NULL
) STRICT;
CREATE INDEX identity_notes_by_agent ON identity_notes (agent_id, note_id);
`,
}
