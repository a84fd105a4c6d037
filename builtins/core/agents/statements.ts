/** Returns the SQL expression of an agent's current name. @param id the SQL expression of its id */
export function agentNameOf(id: string): string {
  return `(SELECT named.name FROM agents_view named WHERE named.agent_id = ${id})`
}
