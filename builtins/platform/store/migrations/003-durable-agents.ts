/** Facts instead of a status, leases, events, transcripts, the journal of tool calls, spend, approvals, values of plugins. */
export const durable = `
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

ALTER TABLE goals ADD COLUMN origin TEXT NOT NULL DEFAULT 'generated';
ALTER TABLE goals ADD COLUMN reasoning TEXT;
ALTER TABLE goals ADD COLUMN result TEXT;
ALTER TABLE goals ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX goals_by_agent ON goals (agent_id, created_at, goal_id);
CREATE INDEX goals_by_parent ON goals (parent_goal_id);
CREATE INDEX goals_active ON goals (agent_id, priority DESC, created_at) WHERE status = 'active';

ALTER TABLE nudges ADD COLUMN delivered_at INTEGER;
UPDATE nudges SET delivered_at = created_at WHERE delivered = 1;
ALTER TABLE nudges DROP COLUMN delivered;
CREATE INDEX nudges_waiting ON nudges (agent_id, created_at) WHERE delivered_at IS NULL;

-- An agent's schedule, lock and recovery in one row; singletons of the daemon have rows of their own.
CREATE TABLE leases (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL DEFAULT 'agent', agent_id TEXT REFERENCES agents (agent_id) ON DELETE CASCADE,
  run_at INTEGER NOT NULL, owner TEXT, epoch INTEGER NOT NULL DEFAULT 0, woken INTEGER NOT NULL DEFAULT 0,
  cycle_num INTEGER NOT NULL DEFAULT 0, claimed_at INTEGER NOT NULL DEFAULT 0, rested_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX leases_due ON leases (run_at) WHERE kind = 'agent';
CREATE INDEX leases_sys ON leases (run_at) WHERE kind = 'sys';
CREATE INDEX leases_by_agent ON leases (agent_id);
INSERT INTO leases (id, agent_id, run_at, cycle_num) SELECT agent_id, agent_id, 0, cycles_lived FROM agents;
ALTER TABLE agents DROP COLUMN cycles_lived;
ALTER TABLE agents DROP COLUMN last_active;
INSERT INTO leases (id, kind, run_at) VALUES ('sys:beat', 'sys', 0);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL, agent_id TEXT,
  cycle_num INTEGER, run_id TEXT, data TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_agent ON events (agent_id, seq);

CREATE TABLE pursuit_transcripts (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, seq INTEGER NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, v INTEGER NOT NULL DEFAULT 1,
  message TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX transcripts_by_agent ON pursuit_transcripts (agent_id);

-- The journal: an intent before a tool runs, its outcome after.
CREATE TABLE tool_calls (
  call_id TEXT PRIMARY KEY, model_call_id TEXT NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, goal_id TEXT,
  epoch INTEGER NOT NULL, step INTEGER NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, args_hash TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'started', outcome TEXT, is_error INTEGER, approval_id TEXT,
  started_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX tool_calls_by_goal ON tool_calls (goal_id, started_at);
CREATE INDEX tool_calls_by_agent ON tool_calls (agent_id, started_at);

-- What models cost, by call: it outlives the agent that caused it.
CREATE TABLE spend (
  call_id TEXT PRIMARY KEY, agent_id TEXT, goal_id TEXT, kind TEXT NOT NULL, model TEXT NOT NULL,
  cost_micros INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, priced TEXT NOT NULL,
  estimated INTEGER NOT NULL, attempts INTEGER NOT NULL, duration_ms INTEGER NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE INDEX spend_by_agent ON spend (agent_id, cost_micros, input_tokens, output_tokens);
CREATE INDEX spend_by_goal ON spend (goal_id, cost_micros);
CREATE INDEX spend_by_time ON spend (at);

CREATE TABLE approvals (
  approval_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, session_id TEXT,
  goal_id TEXT, tool_name TEXT NOT NULL, arguments TEXT NOT NULL, args_hash TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending', reason TEXT, created_at INTEGER NOT NULL, resolved_at INTEGER, resolved_by TEXT
) STRICT;
CREATE INDEX approvals_pending ON approvals (agent_id, created_at) WHERE status = 'pending';
CREATE INDEX approvals_by_call ON approvals (agent_id, tool_name, args_hash);

CREATE TABLE plugin_values (
  namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
`
