/**
 * Images of conversations, each once, by the hash of its bytes; messages hold that hash. `data` is base64. The indexes find
 * messages with images without a look at the others.
 * `images` of a nudge, a goal and a task: a JSON array of what its first message shows.
 */
export const images = `
CREATE TABLE images (
  sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, bytes INTEGER NOT NULL,
  data TEXT NOT NULL, kept_at INTEGER NOT NULL
) STRICT;
CREATE INDEX images_by_age ON images (kept_at);

ALTER TABLE nudges ADD COLUMN images TEXT;
ALTER TABLE goals ADD COLUMN images TEXT;
ALTER TABLE task_runs ADD COLUMN images TEXT;

CREATE INDEX nudges_with_images ON nudges (agent_id) WHERE images IS NOT NULL;
CREATE INDEX goals_with_images ON goals (agent_id) WHERE images IS NOT NULL;
CREATE INDEX task_runs_with_images ON task_runs (agent_id) WHERE images IS NOT NULL;
CREATE INDEX pursuit_transcripts_with_images ON pursuit_transcripts (agent_id) WHERE message LIKE '%"images":[{%';
CREATE INDEX ended_transcripts_with_images ON ended_transcripts (agent_id) WHERE message LIKE '%"images":[{%';
CREATE INDEX task_messages_with_images ON task_messages (task_id) WHERE message LIKE '%"images":[{%';
`
