/**
 * `plan`: a JSON array of the steps that an agent wrote down for a goal. `deadline_at`: when the goal ends as not reached. A goal waits for
 * those that it comes after while they are active.
 */
export const plans = `
ALTER TABLE goals ADD COLUMN plan TEXT;
ALTER TABLE goals ADD COLUMN deadline_at INTEGER;
CREATE INDEX goals_by_deadline ON goals (deadline_at) WHERE status = 'active' AND deadline_at IS NOT NULL;
CREATE TABLE goal_dependencies (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, after_goal_id TEXT NOT NULL,
  PRIMARY KEY (goal_id, after_goal_id)
) STRICT;
`
