/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /** Images of conversations, each once, by the hash of its bytes; messages refer to that hash. `data` is base64. */
  '033-images': `
CREATE TABLE images (
  sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, bytes INTEGER NOT NULL,
  data TEXT NOT NULL, kept_at INTEGER NOT NULL
) STRICT;
CREATE INDEX images_by_age ON images (kept_at);
`,
}
