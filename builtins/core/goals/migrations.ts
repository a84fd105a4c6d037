import { childTable } from '#lib/child-table'

const goals = childTable(
  'goals',
  `goal_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, objective TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active',
    priority INTEGER NOT NULL DEFAULT 4, parent_goal_id TEXT, created_at INTEGER NOT NULL, completed_at INTEGER,
    steps_completed INTEGER NOT NULL DEFAULT 0`,
)

/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '001-first': goals.created,
  '002-cascading-deletes': goals.cascading,
  '003-durable-agents': `
ALTER TABLE goals ADD COLUMN origin TEXT NOT NULL DEFAULT 'generated';
ALTER TABLE goals ADD COLUMN reasoning TEXT;
ALTER TABLE goals ADD COLUMN result TEXT;
ALTER TABLE goals ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX goals_by_agent ON goals (agent_id, created_at, goal_id);
CREATE INDEX goals_by_parent ON goals (parent_goal_id);
CREATE INDEX goals_active ON goals (agent_id, priority DESC, created_at) WHERE status = 'active';

CREATE TABLE pursuit_transcripts (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, seq INTEGER NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, v INTEGER NOT NULL DEFAULT 1,
  message TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX transcripts_by_agent ON pursuit_transcripts (agent_id);
`,
  '005-approvals': `
-- When the end of a subgoal was reported to the parent's model.
ALTER TABLE goals ADD COLUMN told_at INTEGER;

-- An agent whose model found nothing to do is not asked again before ask_again_at, unless its world is another or it was woken
-- since: wakes is the count of its lease when its model was asked.
CREATE TABLE idle_agents (
  agent_id TEXT PRIMARY KEY REFERENCES agents (agent_id) ON DELETE CASCADE, times INTEGER NOT NULL, world TEXT NOT NULL,
  wakes INTEGER NOT NULL, asked_at INTEGER NOT NULL, ask_again_at INTEGER NOT NULL
) STRICT;
`,
  /** Transcripts are removed together with their goals, so they need no index by agent. */
  '021-fewer-pages': `
CREATE TABLE transcripts_moved (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, seq INTEGER NOT NULL, agent_id TEXT NOT NULL,
  v INTEGER NOT NULL DEFAULT 1, message TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO transcripts_moved SELECT goal_id, seq, agent_id, v, message, created_at FROM pursuit_transcripts;
DROP TABLE pursuit_transcripts;
ALTER TABLE transcripts_moved RENAME TO pursuit_transcripts;
`,
  /**
   * Transcripts of ended goals, until retention removes them. `said`: the model's reason why an idle agent has no goal.
   * `refused`: the objective that was refused.
   */
  '026-ended-transcripts': `
CREATE TABLE ended_transcripts (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, seq INTEGER NOT NULL, message TEXT NOT NULL,
  created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX ended_transcripts_by_end ON ended_transcripts (ended_at);
ALTER TABLE idle_agents ADD COLUMN said TEXT;
ALTER TABLE idle_agents ADD COLUMN refused TEXT;
`,
  /**
   * A transcript outlives a sub-agent that retention removes. `agent_id` is the agent of the goal, or the topmost
   * parent of a removed sub-agent.
   */
  '029-removed-sub-agents': `
CREATE TABLE transcripts_moved (
  goal_id TEXT NOT NULL, seq INTEGER NOT NULL, message TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, PRIMARY KEY (goal_id, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO transcripts_moved (goal_id, seq, message, created_at, ended_at, agent_id)
  SELECT e.goal_id, e.seq, e.message, e.created_at, e.ended_at, g.agent_id FROM ended_transcripts e JOIN goals g ON g.goal_id = e.goal_id;
DROP TABLE ended_transcripts;
ALTER TABLE transcripts_moved RENAME TO ended_transcripts;
CREATE INDEX ended_transcripts_by_end ON ended_transcripts (ended_at);
CREATE INDEX ended_transcripts_by_agent ON ended_transcripts (agent_id);
`,
  /**
   * `images` of a goal: a JSON array of the images in its first message. The indexes find messages with images without
   * a full scan.
   */
  '033-images': `
ALTER TABLE goals ADD COLUMN images TEXT;
CREATE INDEX goals_with_images ON goals (agent_id) WHERE images IS NOT NULL;
CREATE INDEX pursuit_transcripts_with_images ON pursuit_transcripts (agent_id) WHERE message LIKE '%"images":[{%';
CREATE INDEX ended_transcripts_with_images ON ended_transcripts (agent_id) WHERE message LIKE '%"images":[{%';
`,
  /**
   * Epoch of the lease of the cycle that last wrote to a goal's transcript; NULL where the last writer was not a cycle.
   * The process with this lease need not read the transcript again.
   */
  '034-transcript-epochs': `
ALTER TABLE goals ADD COLUMN transcript_epoch INTEGER;
`,
  /**
   * Removes old transcripts of goals that a checkpoint restored: earlier versions removed them when the goal ended
   * again.
   */
  '036-restored-transcripts': `
DELETE FROM ended_transcripts WHERE goal_id IN (SELECT goal_id FROM goals WHERE status = 'active');
`,
  /**
   * `acceptance`: a JSON array of the criteria of a goal, each with the result of its last check. `refusals`: how often
   * its end was refused because of them. `claims_refused`: whether it was refused for missing evidence.
   */
  '042-acceptance': `
ALTER TABLE goals ADD COLUMN acceptance TEXT;
ALTER TABLE goals ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE goals ADD COLUMN claims_refused INTEGER NOT NULL DEFAULT 0;
`,
  /**
   * `plan`: a JSON array of the steps that an agent planned for a goal. `deadline_at`: when the goal ends as not
   * reached. A goal waits for active goals that it comes after.
   */
  '043-plans': `
ALTER TABLE goals ADD COLUMN plan TEXT;
ALTER TABLE goals ADD COLUMN deadline_at INTEGER;
CREATE INDEX goals_by_deadline ON goals (deadline_at) WHERE status = 'active' AND deadline_at IS NOT NULL;

CREATE TABLE goal_dependencies (
  goal_id TEXT NOT NULL REFERENCES goals (goal_id) ON DELETE CASCADE, after_goal_id TEXT NOT NULL,
  PRIMARY KEY (goal_id, after_goal_id)
) STRICT;
`,
  /** The columns that other modules may read. */
  '046-views': `
CREATE VIEW ended_transcripts_view AS SELECT goal_id, seq, message, created_at FROM ended_transcripts;
-- blocked: whether a goal waits for a subgoal, for an answer, or for a goal that it comes after.
CREATE VIEW goals_view AS SELECT goal_id, agent_id, objective, status, priority, parent_goal_id, created_at, completed_at,
  steps_completed, reasoning, result, unconfirmed, told_at, images,
  (EXISTS (SELECT 1 FROM goals sub WHERE sub.parent_goal_id = goals.goal_id AND sub.status = 'active')
    OR EXISTS (SELECT 1 FROM questions_view q WHERE q.goal_id = goals.goal_id AND q.answered_at IS NULL)
    OR EXISTS (SELECT 1 FROM goal_dependencies d JOIN goals first ON first.goal_id = d.after_goal_id
      WHERE d.goal_id = goals.goal_id AND first.status = 'active')) AS blocked FROM goals;
CREATE VIEW pursuit_transcripts_view AS SELECT goal_id, seq, message, created_at FROM pursuit_transcripts;
`,
  /** Number of active goals. An engine for many agents stores it, like the numbers of agents. */
  '047-goal-totals': `
CREATE VIEW goal_totals_view AS SELECT count(*) AS active FROM goals WHERE status = 'active';
`,
  /**
   * Transcripts of ended goals stay in the same table; `ended_at` of their first message is for retention. Most goals
   * have no parent.
   */
  '049-fewer-writes': `
ALTER TABLE pursuit_transcripts ADD COLUMN ended_at INTEGER;
CREATE INDEX pursuit_transcripts_ended ON pursuit_transcripts (ended_at) WHERE ended_at IS NOT NULL;
DROP INDEX goals_by_parent;
CREATE INDEX goals_by_parent ON goals (parent_goal_id) WHERE parent_goal_id IS NOT NULL;
`,
  /** `messages` of a goal: a JSON array of the messages that its agent read when it chose the goal. */
  '058-goal-messages': `
ALTER TABLE goals ADD COLUMN messages TEXT;
`,
  /** `parked_wakes`: a goal waits while its agent's wake counter has this value. */
  '060-background-ends': `
ALTER TABLE goals ADD COLUMN parked_wakes INTEGER;
DROP VIEW goals_view;
-- blocked: whether a goal waits for a subgoal, an answer, a goal that it comes after, or the next time its agent is woken.
CREATE VIEW goals_view AS SELECT goal_id, agent_id, objective, status, priority, parent_goal_id, created_at, completed_at,
  steps_completed, reasoning, result, unconfirmed, told_at, images,
  (EXISTS (SELECT 1 FROM goals sub WHERE sub.parent_goal_id = goals.goal_id AND sub.status = 'active')
    OR EXISTS (SELECT 1 FROM questions_view q WHERE q.goal_id = goals.goal_id AND q.answered_at IS NULL)
    OR EXISTS (SELECT 1 FROM leases_view l WHERE l.id = goals.agent_id AND l.wakes = goals.parked_wakes)
    OR EXISTS (SELECT 1 FROM goal_dependencies d JOIN goals first ON first.goal_id = d.after_goal_id
      WHERE d.goal_id = goals.goal_id AND first.status = 'active')) AS blocked FROM goals;
`,
  '063-goals-by-end': `
CREATE INDEX goals_by_end ON goals (completed_at) WHERE completed_at IS NOT NULL;
`,
  '064-active-transcripts': `
ALTER TABLE pursuit_transcripts RENAME TO goal_transcripts;
-- Transcripts of active goals. Those of ended goals stay in goal_transcripts, where they can be read until retention removes them.
CREATE VIEW pursuit_transcripts AS SELECT t.goal_id, t.seq, t.agent_id, t.message, t.created_at
  FROM goal_transcripts t JOIN goals g ON g.goal_id = t.goal_id WHERE g.status = 'active';
`,
}
