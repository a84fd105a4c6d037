import { Memory, type MetadataFilter } from '#core/memory/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { sanitizeLine } from '#lib/sanitize'

/**
 * Returns memories related to a text, at most three lines, and what was stored last, cleaned for a prompt. A
 * memory that cannot be read is left out, so that no goal fails because of it.
 * @param counts whether the memories count as accessed
 * @param except matches memories that are left out
 */
export async function recallMemories(
  svc: PluginHandle,
  agent_id: string,
  about: string,
  counts: boolean,
  except?: MetadataFilter,
): Promise<string[]> {
  if (!svc.has(Memory)) return []
  try {
    const memory = svc.use(Memory)
    const lines = await recordInput('memory', async () => [
      ...(await memory.relevant(agent_id, about, { limit: 3, counts, except })),
      ...((await memory.kept?.(agent_id)) ?? []),
    ])
    return [...new Set(lines.map(sanitizeLine))].filter(Boolean)
  } catch (error) {
    svc.log.warn({ agent_id }, `cannot read the agent's memory: ${errorMessage(error)}`)
    return []
  }
}
