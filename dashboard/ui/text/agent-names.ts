import { idAndName } from '../../../builtins/lib/id-and-name.ts'

interface Named {
  agent_id: string
  name: string
}

/** Returns the names that more than one of the agents has; an agent may be in the list twice. */
export function sharedNames(agents: readonly Named[]): ReadonlySet<string> {
  const first = new Map<string, string>()
  const shared = new Set<string>()
  for (const { agent_id, name } of agents) {
    const owner = first.get(name) ?? agent_id
    first.set(name, owner)
    if (owner !== agent_id) shared.add(name)
  }
  return shared
}
/** Returns an agent's name and id; most ids begin with the name. */
export const fullName = ({ agent_id, name }: Named) =>
  agent_id.startsWith(`${name}-`) ? agent_id : `${name} (${agent_id})`
/** Returns an agent's name, with its id if others have the same name. */
export const labelOf = (agent: Named, shared: ReadonlySet<string>) =>
  shared.has(agent.name) ? fullName(agent) : agent.name
/** Returns the agent of an entry: its id, with its name if that is known and the id does not show it. */
export const agentOf = ({ agent_id, agent_name }: { agent_id: string; agent_name?: string | null | undefined }) =>
  idAndName({ agent_id, name: agent_name })
