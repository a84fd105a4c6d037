import type { Look } from '#platform/store/contract'

type Rows = Pick<Look, 'all' | 'get'>

/**
 * Returns the agents with an active goal that must progress once nothing blocks them, and when they run next, in
 * milliseconds since 1970.
 */
export function agentsThatMustMove(look: Rows): { agent_id: string; run_at: number }[] {
  // An agent may wait for another one that works on a part of its goal; that part must progress. Agents that have asked
  // something since then are left out, because no one answers them.
  return look.all(
    `SELECT g.agent_id, l.run_at FROM goals g JOIN leases l ON l.agent_id = g.agent_id
     WHERE g.status = 'active' AND NOT EXISTS (SELECT 1 FROM goals sub
       WHERE sub.parent_goal_id = g.goal_id AND sub.agent_id <> g.agent_id AND sub.status = 'active')
     AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.agent_id = g.agent_id AND a.status = 'pending' AND a.task_id IS NULL)
     AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.goal_id = g.goal_id AND q.answered_at IS NULL)
     ORDER BY g.goal_id`,
  )
}

/** Returns a value that changes whenever one of an agent's goals does, or it asks for an approval. */
export function progressOf(look: Rows, agent_id: string): string {
  const row = look.get<Record<string, number>>(
    `SELECT count(*) AS goals, sum(steps_completed) AS steps,
       (SELECT count(*) FROM tool_calls WHERE agent_id = @id AND state = 'done') AS calls,
       (SELECT count(*) FROM approvals WHERE agent_id = @id) + (SELECT count(*) FROM questions WHERE agent_id = @id) AS asked
     FROM goals WHERE agent_id = @id AND status = 'active'`,
    [{ id: agent_id }],
  )
  return JSON.stringify(row)
}
