import type { PluginHandle } from '#kernel'
import { forgets } from '#platform/retention/contract'

/** What of this room may go: alarms that went off, once their agent was told. */
export function schedulesForget(svc: PluginHandle): void {
  forgets(svc, { name: 'alarms', key: 'alarm_id', where: 'told_at < ?' })
}
