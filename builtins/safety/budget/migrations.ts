/** DDL of this module's tables, by schema step of `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '003-durable-agents': `
-- What models cost, by call: it outlives the agent that caused it.
CREATE TABLE spend (
  call_id TEXT PRIMARY KEY, agent_id TEXT, goal_id TEXT, kind TEXT NOT NULL, model TEXT NOT NULL,
  cost_micros INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, priced TEXT NOT NULL,
  estimated INTEGER NOT NULL, attempts INTEGER NOT NULL, duration_ms INTEGER NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE INDEX spend_by_agent ON spend (agent_id, cost_micros, input_tokens, output_tokens);
CREATE INDEX spend_by_goal ON spend (goal_id, cost_micros);
CREATE INDEX spend_by_time ON spend (at);
`,
  '006-budget': `
-- One row: the spend of its window added up. The rows of the same window say the same, one by one.
CREATE TABLE budget (
  id INTEGER PRIMARY KEY CHECK (id = 1), budget_window INTEGER NOT NULL, began_at INTEGER NOT NULL,
  spent_micros INTEGER NOT NULL, spent_tokens INTEGER NOT NULL, told_window INTEGER NOT NULL DEFAULT 0
) STRICT;
ALTER TABLE spend ADD COLUMN budget_window INTEGER NOT NULL DEFAULT 1;
ALTER TABLE spend ADD COLUMN root_agent_id TEXT;
ALTER TABLE spend ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;

-- Taken from a reservation whose process is gone: what the call cost is not known.
ALTER TABLE spend ADD COLUMN presumed INTEGER NOT NULL DEFAULT 0;
UPDATE spend SET root_agent_id = agent_id;
INSERT INTO budget (id, budget_window, began_at, spent_micros, spent_tokens) SELECT 1, 1, coalesce(min(at), 0),
  coalesce(sum(cost_micros), 0), coalesce(sum(input_tokens + output_tokens), 0) FROM spend;
CREATE INDEX spend_by_payer ON spend (root_agent_id, kind, cost_micros);
CREATE INDEX spend_unsure ON spend (budget_window, cost_micros, input_tokens, output_tokens)
  WHERE priced = 'default' OR estimated = 1;

-- What calls under way may cost. A row goes with the booking of its call, or at expires_at, when no caller waits for it any more.
CREATE TABLE budget_reservations (
  call_id TEXT PRIMARY KEY, owner TEXT NOT NULL, by_daemon INTEGER NOT NULL, agent_id TEXT, root_agent_id TEXT, goal_id TEXT,
  kind TEXT NOT NULL, model TEXT NOT NULL, priced TEXT NOT NULL, cost_micros INTEGER NOT NULL, tokens INTEGER NOT NULL,
  held_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
) STRICT;
`,
  '008-runs': `
ALTER TABLE spend ADD COLUMN run_id TEXT;
`,
  /** No query reads spend by goal. */
  '021-fewer-pages': `
DROP INDEX spend_by_goal;
`,
  /** Each model call inserts a reservation and deletes it; without a rowid, each change writes one page. */
  '022-reservations': `
CREATE TABLE reservations_moved (
  call_id TEXT PRIMARY KEY, owner TEXT NOT NULL, by_daemon INTEGER NOT NULL, agent_id TEXT, root_agent_id TEXT, goal_id TEXT,
  kind TEXT NOT NULL, model TEXT NOT NULL, priced TEXT NOT NULL, cost_micros INTEGER NOT NULL, tokens INTEGER NOT NULL,
  held_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO reservations_moved (call_id, owner, by_daemon, agent_id, root_agent_id, goal_id, kind, model, priced, cost_micros,
    tokens, held_at, expires_at)
  SELECT call_id, owner, by_daemon, agent_id, root_agent_id, goal_id, kind, model, priced, cost_micros, tokens, held_at, expires_at
  FROM budget_reservations;
DROP TABLE budget_reservations;
ALTER TABLE reservations_moved RENAME TO budget_reservations;
`,
  /** `tight_*`: amount of the call that did not fit the budget. `spend_unsure`: also covers models of unknown price. */
  '025-budget-prices': `
ALTER TABLE budget ADD COLUMN tight_micros INTEGER;
ALTER TABLE budget ADD COLUMN tight_tokens INTEGER;
DROP INDEX spend_unsure;
CREATE INDEX spend_unsure ON spend (budget_window, priced, estimated, cost_micros, input_tokens, output_tokens)
  WHERE priced IN ('default', 'unknown') OR estimated = 1;
`,
  /**
   * Spending limits of single agents. `bound_micros`: the maximum cost of a call, which can be less than its
   * reservation. `exhausted_limits`: limits whose exhaustion was reported, so that it is reported once.
   * `spend_presumed`: amounts booked but not confirmed.
   */
  '027-agent-limits': `
ALTER TABLE budget_reservations ADD COLUMN bound_micros INTEGER NOT NULL DEFAULT 0;
UPDATE budget_reservations SET bound_micros = cost_micros;

CREATE TABLE exhausted_limits (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, key TEXT NOT NULL, limit_micros INTEGER NOT NULL,
  PRIMARY KEY (agent_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX spend_presumed ON spend (budget_window) WHERE presumed = 1;
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW spend_view AS SELECT call_id, agent_id, goal_id, kind, model, cost_micros, input_tokens, output_tokens, at,
  root_agent_id, run_id FROM spend;
`,
  /** Number of calls that a row stands for: retention replaces old rows by sums. */
  '057-spend-calls': 'ALTER TABLE spend ADD COLUMN calls INTEGER NOT NULL DEFAULT 1;',
  '065-calls-of-spend': `
DROP VIEW spend_view;
CREATE VIEW spend_view AS SELECT call_id, agent_id, goal_id, kind, model, cost_micros, input_tokens, output_tokens, at,
  root_agent_id, run_id, calls FROM spend;
`,
}
