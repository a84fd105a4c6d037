import type { PluginHandle } from '#kernel'
import { forgets } from '../retention/contract.ts'

/** What of this room may go: messages that were read. */
export function agentsForget(svc: PluginHandle): void {
  forgets(svc, { name: 'nudges', key: 'nudge_id', where: 'delivered_at < ?' })
}
