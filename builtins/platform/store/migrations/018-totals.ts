/**
 * How many agents there are, and how many of them in each state that stands in their rows. Here they are counted when somebody
 * asks; an engine for many agents keeps these numbers, under the same names, in the same transactions as the rows.
 */
export const totals = `
CREATE VIEW agent_number AS SELECT count(*) AS total FROM agents;
CREATE VIEW agent_totals AS SELECT count(*) AS total, count(*) FILTER (WHERE died_at IS NOT NULL) AS dead,
  count(*) FILTER (WHERE died_at IS NULL AND paused_at IS NOT NULL) AS paused,
  count(*) FILTER (WHERE died_at IS NULL AND paused_at IS NULL AND waiting_for IS NOT NULL) AS waiting,
  (SELECT count(*) FROM goals WHERE status = 'active') AS goals_active FROM agents;
`
