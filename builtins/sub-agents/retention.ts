import type { PluginHandle } from '#kernel'
import { forgets } from '../retention/contract.ts'

/** What of this room may go: instructions that were read. */
export function subAgentsForget(svc: PluginHandle): void {
  forgets(svc, { name: 'sub_agent_instructions', key: 'instruction_id', where: 'delivered_at < ?' })
}
