import { childTable } from '#lib/child-table'

const tasks = childTable(
  'tasks',
  `task_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, description TEXT NOT NULL, priority TEXT NOT NULL DEFAULT 'medium',
    status TEXT NOT NULL DEFAULT 'pending', due_date TEXT, created_at INTEGER NOT NULL, completed_at INTEGER`,
)

/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '001-first': tasks.created,
  '002-cascading-deletes': tasks.cascading,
  '011-schedules': `
CREATE INDEX tasks_by_agent ON tasks (agent_id, status, created_at);
`,
}
