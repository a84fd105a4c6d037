/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /** `before_tree`, `after_tree`: git trees in the repository of the folder's snapshots. */
  '061-folder-changes': `
CREATE TABLE folder_changes (
  change_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, goal_id TEXT,
  task_id TEXT, folder TEXT NOT NULL, before_tree TEXT, after_tree TEXT, files INTEGER, problem TEXT,
  began_at INTEGER NOT NULL, ended_at INTEGER, undone_at INTEGER
) STRICT;
CREATE INDEX folder_changes_by_agent ON folder_changes (agent_id, began_at);
`,
}
