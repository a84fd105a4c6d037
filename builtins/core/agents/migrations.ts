import { childTable } from '#lib/child-table'

const nudges = childTable(
  'nudges',
  `nudge_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, message TEXT NOT NULL, delivered INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL`,
)

/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '001-first': `
CREATE TABLE agents (
  agent_id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'idle', workspace TEXT NOT NULL DEFAULT '', spawned_at INTEGER NOT NULL, last_active INTEGER,
  error TEXT, spawned_by TEXT, max_cycles INTEGER, cycles_lived INTEGER NOT NULL DEFAULT 0
) STRICT;
${nudges.created}`,
  '002-cascading-deletes': nudges.cascading,
  '003-durable-agents': `
-- Status is derived from facts that are stored once.
ALTER TABLE agents ADD COLUMN preset TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN paused_at INTEGER;
ALTER TABLE agents ADD COLUMN died_at INTEGER;
ALTER TABLE agents ADD COLUMN waiting_for TEXT;
ALTER TABLE agents ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET preset = name, paused_at = CASE WHEN status = 'paused' THEN spawned_at END,
  died_at = CASE WHEN status = 'dead' THEN spawned_at END;
ALTER TABLE agents DROP COLUMN status;
CREATE INDEX agents_by_spawn ON agents (spawned_at);
CREATE INDEX agents_by_name ON agents (name);
ALTER TABLE nudges ADD COLUMN delivered_at INTEGER;
UPDATE nudges SET delivered_at = created_at WHERE delivered = 1;
ALTER TABLE nudges DROP COLUMN delivered;
CREATE INDEX nudges_waiting ON nudges (agent_id, created_at) WHERE delivered_at IS NULL;
ALTER TABLE agents DROP COLUMN cycles_lived;
ALTER TABLE agents DROP COLUMN last_active;
`,
  '005-approvals': `
-- Why the last cycle did not do what it was there for, such as the guard that kept it from that.
ALTER TABLE agents ADD COLUMN held_by TEXT;
`,
  /** `root_agent_id`: the agent that pays for this one. */
  '012-sub-agents': `
ALTER TABLE agents ADD COLUMN root_agent_id TEXT;
UPDATE agents SET root_agent_id = spawned_by WHERE spawned_by IN (SELECT agent_id FROM agents);
UPDATE agents SET root_agent_id = (SELECT p.root_agent_id FROM agents p WHERE p.agent_id = agents.root_agent_id)
  WHERE EXISTS (SELECT 1 FROM agents p WHERE p.agent_id = agents.root_agent_id AND p.root_agent_id IS NOT NULL);
CREATE INDEX agents_by_spawner ON agents (spawned_by) WHERE spawned_by IS NOT NULL;
CREATE INDEX nudges_by_delivery ON nudges (delivered_at) WHERE delivered_at IS NOT NULL;
`,
  /**
   * Numbers of agents by state. These views count on each read; an engine for many agents stores the numbers under the
   * same names, in the same transactions as the rows.
   */
  '018-totals': `
CREATE VIEW agent_number AS SELECT count(*) AS total FROM agents;
CREATE VIEW agent_totals AS SELECT count(*) AS total, count(*) FILTER (WHERE died_at IS NOT NULL) AS dead,
  count(*) FILTER (WHERE died_at IS NULL AND paused_at IS NOT NULL) AS paused,
  count(*) FILTER (WHERE died_at IS NULL AND paused_at IS NULL AND waiting_for IS NOT NULL) AS waiting,
  (SELECT count(*) FROM goals WHERE status = 'active') AS goals_active FROM agents;
`,
  /** `given_role`: the agent's own role; NULL where the current role of its preset applies. */
  '024-given-roles': `
ALTER TABLE agents ADD COLUMN given_role TEXT;
`,
  /** `images`: a JSON array of the images that the message shows. */
  '033-images': `
ALTER TABLE nudges ADD COLUMN images TEXT;
CREATE INDEX nudges_with_images ON nudges (agent_id) WHERE images IS NOT NULL;
`,
  /**
   * `folders`: the folders that the operator gave to an agent, as JSON: `[{ path, access }]`; NULL where it has only
   * its own. `workspace` is the one of them in which it works; an empty string for its own.
   */
  '038-given-folders': `
ALTER TABLE agents ADD COLUMN folders TEXT;
`,
  /** The columns that other modules may read. */
  '046-views': `
CREATE VIEW agents_view AS SELECT agent_id, name, role, model, spawned_at, error, spawned_by, max_cycles, preset, paused_at,
  died_at, waiting_for, failures, held_by, root_agent_id, given_role, folders FROM agents;
CREATE VIEW nudges_view AS SELECT nudge_id, agent_id, message, created_at, delivered_at, images FROM nudges;
`,
  /** The number of active goals is counted by the goals module. */
  '047-goal-totals': `
DROP VIEW agent_totals;
CREATE VIEW agent_totals AS SELECT count(*) AS total, count(*) FILTER (WHERE died_at IS NOT NULL) AS dead,
  count(*) FILTER (WHERE died_at IS NULL AND paused_at IS NOT NULL) AS paused,
  count(*) FILTER (WHERE died_at IS NULL AND paused_at IS NULL AND waiting_for IS NOT NULL) AS waiting FROM agents;
`,
  /** A cycle asks for the messages that its agent has read, and the deletion of an agent for all of them. */
  '066-agents-index': `
CREATE INDEX nudges_by_agent ON nudges (agent_id, delivered_at);
`,
}
