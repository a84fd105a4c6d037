import { Agents, agentReach } from '#core/agents/contract'
import { type PluginHandle, withTimeLimit } from '#kernel'
import type { ToolCall } from '#tools/toolkits/contract'
import { toolOf } from './decisions.ts'
import type { ApprovalRow } from './repository.ts'

const LIMIT_MS = 5_000
/** Maximum length of a preview, in characters. */
const LONGEST = 50_000

/** Returns what a waiting call would do, by its tool; null if the tool does not say, or fails. */
export async function previewOf(svc: PluginHandle, row: ApprovalRow): Promise<string | null> {
  const tool = row.status === 'pending' ? toolOf(svc, row.tool_name) : undefined
  if (!tool?.preview) return null
  const { agent_id, goal_id } = row
  const end = new AbortController()
  try {
    const args = tool.parameters.parse(JSON.parse(row.arguments))
    const call: ToolCall = {
      call_id: row.approval_id,
      agent_id,
      goal_id,
      cycle_num: 0,
      idempotency_key: row.approval_id,
      signal: end.signal,
      ...agentReach(svc.project, await svc.use(Agents).find(agent_id)),
      effect() {
        throw new Error('a preview cannot add effects')
      },
    }
    const work = (async () => tool.preview?.(args, call))()
    const text = await withTimeLimit(svc.clock, LIMIT_MS, `The preview of the tool ${tool.name}`, work)
    if (text !== undefined && typeof text !== 'string')
      throw new TypeError(`it must return a string, not ${Array.isArray(text) ? 'an array' : typeof text}`)
    if (!text || text.length <= LONGEST) return text ?? null
    return `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} more characters`
  } catch (error) {
    svc.log.warn({ agent_id }, `The preview of the tool ${tool.name} failed: ${(error as Error).message}`)
    return null
  } finally {
    end.abort('the preview is over')
  }
}
