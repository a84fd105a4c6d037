/** Statements on goals and their transcripts, for other modules. */
import type { Statement, Store } from '#platform/store/contract'

export interface EndedGoals {
  goals_completed: number
  /** Number of the completed goals that ended without finish_goal. */
  goals_unconfirmed: number
  goals_abandoned: number
}

/** Counts an agent's ended goals, until the agent is deleted. */
export async function countEndedGoals(store: Store, agent_id: string): Promise<EndedGoals> {
  const counts = await store.get<EndedGoals>(
    `SELECT count(*) FILTER (WHERE status = 'completed') AS goals_completed,
       count(*) FILTER (WHERE status = 'completed' AND unconfirmed = 1) AS goals_unconfirmed,
       count(*) FILTER (WHERE status = 'abandoned') AS goals_abandoned FROM goals_view WHERE agent_id = ?`,
    [agent_id],
  )
  return counts!
}

/** Makes an active goal a subgoal of another. @param goal the query of its id */
export function adoptGoal(parent_goal_id: string, { sql, params = [] }: Statement): Statement {
  return {
    sql: `UPDATE goals SET parent_goal_id = ? WHERE status = 'active' AND goal_id = (${sql})`,
    params: [parent_goal_id, ...params],
  }
}

/**
 * Moves the transcripts of an agent's ended goals to its topmost parent, if any, because its goals are deleted with the
 * agent.
 */
export function passTranscripts(agent_id: string): Statement[] {
  const topOf = (table: string) =>
    `SELECT p.agent_id FROM agents_view a JOIN agents_view p ON p.agent_id = a.root_agent_id WHERE a.agent_id = ${table}.agent_id`
  return [
    {
      sql: `INSERT INTO ended_transcripts (goal_id, seq, message, created_at, ended_at, agent_id)
            SELECT t.goal_id, t.seq, t.message, t.created_at, g.completed_at, (${topOf('g')})
            FROM goals g JOIN goal_transcripts t ON t.goal_id = g.goal_id
            WHERE g.agent_id = ? AND g.completed_at IS NOT NULL AND EXISTS (${topOf('g')})`,
      params: [agent_id],
    },
    {
      sql: `UPDATE ended_transcripts SET agent_id = (${topOf('ended_transcripts')})
            WHERE agent_id = ? AND EXISTS (${topOf('ended_transcripts')})`,
      params: [agent_id],
    },
  ]
}
