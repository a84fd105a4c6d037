/** Each call of a model writes a reservation and takes it away again: in one page each time, where it lay in two. */
export const reservations = `
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
`
