import { Memory } from '#core/memory/contract'
import { type PluginHandle, sentenceOf } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { sanitize } from '../contract.ts'

/**
 * What an agent remembers that bears on a text, at most three lines, cleaned for a prompt. A memory that cannot be read
 * is none: no goal fails because of it.
 * @param counts whether it counts as accessed
 */
export async function recallMemories(
  svc: PluginHandle,
  agent_id: string,
  about: string,
  counts: boolean,
): Promise<string[]> {
  if (!svc.has(Memory)) return []
  try {
    const lines = await recordInput('memory', () => svc.use(Memory).relevant(agent_id, about, { limit: 3, counts }))
    return lines.map(line => sanitize(line).replace(/\s+/g, ' ')).filter(Boolean)
  } catch (error) {
    svc.log.warn({ agent_id }, `its memory cannot be read: ${sentenceOf(error)}`)
    return []
  }
}
