/** What is spent since a window began, what calls under way may still cost, and who pays for whom. */
export const budget = `
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

-- What calls under way may cost. A row goes with the booking of its call, or at expires_at, when nobody can be waiting for it.
CREATE TABLE budget_reservations (
  call_id TEXT PRIMARY KEY, owner TEXT NOT NULL, by_daemon INTEGER NOT NULL, agent_id TEXT, root_agent_id TEXT, goal_id TEXT,
  kind TEXT NOT NULL, model TEXT NOT NULL, priced TEXT NOT NULL, cost_micros INTEGER NOT NULL, tokens INTEGER NOT NULL,
  held_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
) STRICT;
`
