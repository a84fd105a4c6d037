import { childTable } from '#lib/child-table'

const subAgents = childTable(
  'sub_agents',
  `sub_agent_id TEXT PRIMARY KEY, parent_agent_id TEXT NOT NULL @, task TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'running', result TEXT NOT NULL DEFAULT '', depth INTEGER NOT NULL DEFAULT 1,
    max_cycles INTEGER NOT NULL DEFAULT 10, created_at INTEGER NOT NULL, completed_at INTEGER`,
)

/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '001-first': subAgents.created,
  '002-cascading-deletes': subAgents.cascading,
  '012-sub-agents': `
-- goal_id: its task. call_id: the call that asked for it, so that the same call makes it once. cycles: how often it worked.
ALTER TABLE sub_agents ADD COLUMN goal_id TEXT;
ALTER TABLE sub_agents ADD COLUMN profile TEXT;
ALTER TABLE sub_agents ADD COLUMN call_id TEXT;
ALTER TABLE sub_agents ADD COLUMN ending TEXT;
ALTER TABLE sub_agents ADD COLUMN cycles INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sub_agents ADD COLUMN told_at INTEGER;
UPDATE sub_agents SET told_at = coalesce(completed_at, created_at) WHERE status <> 'running';
UPDATE sub_agents SET goal_id = (SELECT goal_id FROM goals WHERE goals.agent_id = sub_agents.sub_agent_id AND status = 'active'
  ORDER BY created_at LIMIT 1);
CREATE UNIQUE INDEX sub_agents_by_call ON sub_agents (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX sub_agents_by_parent ON sub_agents (parent_agent_id, created_at);
CREATE INDEX sub_agents_running ON sub_agents (parent_agent_id) WHERE status = 'running';

CREATE TABLE sub_agent_instructions (
  instruction_id TEXT PRIMARY KEY, sub_agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
  message TEXT NOT NULL, created_at INTEGER NOT NULL, delivered_at INTEGER
) STRICT;
CREATE INDEX sub_agent_instructions_waiting ON sub_agent_instructions (sub_agent_id, created_at);
`,
  '029-removed-sub-agents': `
ALTER TABLE sub_agents ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE sub_agents ADD COLUMN role TEXT NOT NULL DEFAULT '';
UPDATE sub_agents SET name = coalesce((SELECT name FROM agents a WHERE a.agent_id = sub_agents.sub_agent_id), ''),
  role = coalesce((SELECT role FROM agents a WHERE a.agent_id = sub_agents.sub_agent_id), '');
CREATE INDEX sub_agents_by_end ON sub_agents (completed_at) WHERE status <> 'running';
`,
}
