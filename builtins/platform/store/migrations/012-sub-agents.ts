/** Sub-agents: what each is for, how it ended and what its parent was told; who pays. Indices by which old rows are found. */
export const subAgents = `
ALTER TABLE agents ADD COLUMN root_agent_id TEXT;
UPDATE agents SET root_agent_id = spawned_by WHERE spawned_by IN (SELECT agent_id FROM agents);
UPDATE agents SET root_agent_id = (SELECT p.root_agent_id FROM agents p WHERE p.agent_id = agents.root_agent_id)
  WHERE EXISTS (SELECT 1 FROM agents p WHERE p.agent_id = agents.root_agent_id AND p.root_agent_id IS NOT NULL);
CREATE INDEX agents_by_spawner ON agents (spawned_by) WHERE spawned_by IS NOT NULL;

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

CREATE INDEX nudges_by_delivery ON nudges (delivered_at) WHERE delivered_at IS NOT NULL;
CREATE INDEX sessions_by_end ON sessions (completed_at) WHERE status <> 'running';
CREATE INDEX task_runs_by_end ON task_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tool_calls_by_end ON tool_calls (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tool_calls_by_approval ON tool_calls (approval_id) WHERE approval_id IS NOT NULL;
`
