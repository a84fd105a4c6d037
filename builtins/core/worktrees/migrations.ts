/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /**
   * Branches of agents' worktrees that are neither accepted nor discarded. `base`: commit of the operator's repository
   * that changes are compared with. `goal_id`: null for a branch of all work. The branch entered last is checked out.
   */
  '051-worktrees': `
CREATE TABLE worktree_branches (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, branch TEXT NOT NULL, goal_id TEXT,
  repository TEXT NOT NULL, base TEXT NOT NULL, per TEXT NOT NULL, entered_at INTEGER NOT NULL,
  PRIMARY KEY (agent_id, branch)
) STRICT;
`,
}
