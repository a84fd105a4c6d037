/** What the writes of other modules may do to goals and their transcripts. */
import type { Statement } from '#platform/store/contract'

/** Makes an active goal a subgoal of another. @param goal the query of its id */
export function adoptGoal(parent_goal_id: string, { sql, params = [] }: Statement): Statement {
  return {
    sql: `UPDATE goals SET parent_goal_id = ? WHERE status = 'active' AND goal_id = (${sql})`,
    params: [parent_goal_id, ...params],
  }
}

/** Gives the transcripts of an agent's ended goals to the agent at its top, if it has one. */
export function passTranscripts(agent_id: string): Statement {
  const top = `SELECT p.agent_id FROM agents_view a JOIN agents_view p ON p.agent_id = a.root_agent_id
    WHERE a.agent_id = ended_transcripts.agent_id`
  return {
    sql: `UPDATE ended_transcripts SET agent_id = (${top}) WHERE agent_id = ? AND EXISTS (${top})`,
    params: [agent_id],
  }
}
