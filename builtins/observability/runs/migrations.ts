const TOTALS = [
  'cycles',
  'goals_generated',
  'goals_completed',
  'goals_abandoned',
  'model_calls',
  'tool_calls',
  'tool_failures',
  'input_tokens',
  'output_tokens',
  'cost_micros',
]
  .map(total => `${total} INTEGER NOT NULL DEFAULT 0`)
  .join(', ')

/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /** Runs of daemons and one-shot tasks, with their totals. They outlive their agents. */
  '008-runs': `
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY, kind TEXT NOT NULL, pid INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, exit TEXT,
  facts TEXT NOT NULL, agents INTEGER NOT NULL DEFAULT 0, ${TOTALS}, counted_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_by_start ON runs (started_at, run_id);
CREATE INDEX runs_open ON runs (kind, started_at) WHERE ended_at IS NULL;

CREATE TABLE run_agents (
  run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE, agent_id TEXT NOT NULL, name TEXT NOT NULL, model TEXT NOT NULL,
  first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, ${TOTALS}, PRIMARY KEY (run_id, agent_id)
) STRICT, WITHOUT ROWID;
`,
  /** Settings that runs share, each stored once. */
  '020-run-settings': `
CREATE TABLE run_settings (settings_id TEXT PRIMARY KEY, facts TEXT NOT NULL, used_at INTEGER NOT NULL) STRICT;
ALTER TABLE runs ADD COLUMN settings_id TEXT;
`,
  /** Columns that other modules may read. */
  '046-views': `
CREATE VIEW runs_view AS SELECT run_id, kind, pid, started_at, ended_at, agents, cycles FROM runs;
`,
}
