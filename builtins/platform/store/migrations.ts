/** DDL of this module's tables, by schema step of `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '003-durable-agents': `
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
INSERT INTO leases (id, kind, run_at) VALUES ('sys:beat', 'sys', 0);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL, agent_id TEXT,
  cycle_num INTEGER, run_id TEXT, data TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_agent ON events (agent_id, seq);

CREATE TABLE plugin_values (
  namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
`,
  '005-approvals': `
-- How often it was woken, ever.
ALTER TABLE leases ADD COLUMN wakes INTEGER NOT NULL DEFAULT 0;
`,
  '008-runs': `
CREATE INDEX events_by_run ON events (run_id, seq) WHERE run_id IS NOT NULL;
`,
  /** `passed`: number of an idle agent's cycles that were passed in bulk, because there was nothing to do. */
  '019-rest': `
ALTER TABLE leases ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
`,
  /** The newest events are always kept, so a seq is never reused and no counter must be stored. */
  '021-fewer-pages': `
CREATE TABLE events_moved (
  seq INTEGER PRIMARY KEY, type TEXT NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL, agent_id TEXT,
  cycle_num INTEGER, run_id TEXT, data TEXT NOT NULL
) STRICT;
INSERT INTO events_moved SELECT seq, type, v, at, agent_id, cycle_num, run_id, data FROM events;
DROP TABLE events;
ALTER TABLE events_moved RENAME TO events;
CREATE INDEX events_by_agent ON events (agent_id, seq);
CREATE INDEX events_by_run ON events (run_id, seq) WHERE run_id IS NOT NULL;
`,
  /** The recording process, and writes of other processes that it has not read yet; empty while no process records. */
  '023-neighbours': `
CREATE TABLE svc_recorder (owner TEXT PRIMARY KEY, pid INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE svc_told (n INTEGER PRIMARY KEY AUTOINCREMENT, statements TEXT NOT NULL) STRICT;
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW events_view AS SELECT seq, type, v, at, agent_id, cycle_num, run_id, data FROM events;
CREATE VIEW leases_view AS SELECT id, kind, agent_id, run_at, owner, epoch, woken, cycle_num, claimed_at, wakes, passed FROM
  leases;
CREATE VIEW plugin_values_view AS SELECT namespace, key, value FROM plugin_values;
`,
}
