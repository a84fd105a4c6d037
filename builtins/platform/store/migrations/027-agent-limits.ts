/**
 * Limits on what is spent in the name of single agents. `bound_micros`: what the call may cost, which can be less than what is
 * held for it. `exhausted_limits`: the limits whose exhaustion was reported, so that it is reported once. `spend_presumed`: what is
 * booked without being confirmed.
 */
export const agentLimits = `
ALTER TABLE budget_reservations ADD COLUMN bound_micros INTEGER NOT NULL DEFAULT 0;
UPDATE budget_reservations SET bound_micros = cost_micros;

CREATE TABLE exhausted_limits (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, key TEXT NOT NULL, limit_micros INTEGER NOT NULL,
  PRIMARY KEY (agent_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX spend_presumed ON spend (budget_window) WHERE presumed = 1;
`
