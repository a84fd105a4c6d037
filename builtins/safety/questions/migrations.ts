/** DDL of this module's tables, by schema step of `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /**
   * Questions to the operator, one row per call of `ask_operator`. `options`: a JSON array of answers to choose from.
   * An open question prevents the pursuit of its goal; a question whose goal has ended is expired.
   */
  '041-questions': `
CREATE TABLE questions (
  question_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, goal_id TEXT NOT NULL,
  call_id TEXT NOT NULL UNIQUE, question TEXT NOT NULL, options TEXT NOT NULL, free_text INTEGER NOT NULL,
  default_answer TEXT, default_at INTEGER, asked_at INTEGER NOT NULL, answer TEXT, answered_at INTEGER, answered_by TEXT
) STRICT;
CREATE INDEX questions_open ON questions (goal_id) WHERE answered_at IS NULL;
CREATE INDEX questions_overdue ON questions (default_at) WHERE answered_at IS NULL;
CREATE INDEX questions_by_agent ON questions (agent_id);
CREATE INDEX questions_by_age ON questions (asked_at, question_id);
`,
  /** `goal_id` is empty for a question of a one-shot task. `answer_key`: idempotency key of the answer. */
  '055-task-questions': `
ALTER TABLE questions ADD COLUMN task_id TEXT;
ALTER TABLE questions ADD COLUMN answer_key TEXT;
CREATE INDEX questions_by_task ON questions (task_id) WHERE task_id IS NOT NULL;
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW questions_view AS SELECT question_id, agent_id, goal_id, call_id, question, asked_at, answer, answered_at FROM
  questions;
`,
}
