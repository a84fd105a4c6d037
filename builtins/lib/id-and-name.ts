/** Returns an agent's id, with its name if that is known and the id does not show it. */
export function idAndName({ agent_id, name }: { agent_id: string; name: string | null | undefined }): string {
  if (!name) return agent_id
  const isShown = [name, `sub-${name.toLowerCase()}`].some(start => agent_id.startsWith(`${start}-`))
  return isShown ? agent_id : `${agent_id} (${name})`
}
