/** DDL of this module's tables, by the schema steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /**
   * Requests with an Idempotency-Key. `written`: whether what the request creates is committed. `answer`: the output as
   * JSON, once there is one.
   */
  '028-idempotency-keys': `
CREATE TABLE idempotency_keys (
  user_id TEXT NOT NULL, route TEXT NOT NULL, key TEXT NOT NULL, request_id TEXT NOT NULL, request_hash TEXT NOT NULL,
  written INTEGER NOT NULL DEFAULT 0, answer TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (user_id, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
`,
}
