/** Returns an agent's id, with its name if the id does not show it. */
export function idAndName({ agent_id, name }: { agent_id: string; name: string }): string {
  const isShown = [name, `sub-${name.toLowerCase()}`].some(start => agent_id.startsWith(`${start}-`))
  return isShown ? agent_id : `${agent_id} (${name})`
}
