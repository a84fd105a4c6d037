/** Which child tables the specification names for cascading deletes, with their columns. */
export const CHILDREN = {
  goals: `goal_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, objective TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active',
    priority INTEGER NOT NULL DEFAULT 4, parent_goal_id TEXT, created_at INTEGER NOT NULL, completed_at INTEGER,
    steps_completed INTEGER NOT NULL DEFAULT 0`,
  nudges: `nudge_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, message TEXT NOT NULL, delivered INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL`,
  schedules: `schedule_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, objective TEXT NOT NULL, every_n_cycles INTEGER,
    last_fired_cycle INTEGER NOT NULL DEFAULT 0, enabled INTEGER NOT NULL DEFAULT 1, created_at INTEGER NOT NULL`,
  sub_agents: `sub_agent_id TEXT PRIMARY KEY, parent_agent_id TEXT NOT NULL @, task TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'running', result TEXT NOT NULL DEFAULT '', depth INTEGER NOT NULL DEFAULT 1,
    max_cycles INTEGER NOT NULL DEFAULT 10, created_at INTEGER NOT NULL, completed_at INTEGER`,
  tasks: `task_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, description TEXT NOT NULL, priority TEXT NOT NULL DEFAULT 'medium',
    status TEXT NOT NULL DEFAULT 'pending', due_date TEXT, created_at INTEGER NOT NULL, completed_at INTEGER`,
  alarms: `alarm_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, description TEXT NOT NULL, fire_at INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending', created_at INTEGER NOT NULL`,
  sessions: `session_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, task TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'running', started_at INTEGER NOT NULL, completed_at INTEGER,
    input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, duration_ms INTEGER NOT NULL DEFAULT 0,
    user_id TEXT NOT NULL DEFAULT 'default', session_key TEXT, created_at INTEGER NOT NULL, last_active INTEGER NOT NULL,
    metadata TEXT`,
}

/** A child table; `@` in its columns stands for the reference to its agent. */
export const table = (name: string, columns: string, cascade: string) =>
  `CREATE TABLE ${name} (${columns.replace('@', `REFERENCES agents (agent_id)${cascade}`)}) STRICT;`

/** The schema before cascades. */
export const first = `
CREATE TABLE agents (
  agent_id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'idle', workspace TEXT NOT NULL DEFAULT '', spawned_at INTEGER NOT NULL, last_active INTEGER,
  error TEXT, spawned_by TEXT, max_cycles INTEGER, cycles_lived INTEGER NOT NULL DEFAULT 0
) STRICT;
${Object.entries(CHILDREN)
  .map(([name, columns]) => table(name, columns, ''))
  .join('\n')}
`
