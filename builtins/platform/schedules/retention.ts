import type { PluginHandle } from '#kernel'
import { addRetentionRule } from '#platform/retention/contract'

/** Removes fired alarms that their agent has read. */
export function schedulesForget(svc: PluginHandle): void {
  addRetentionRule(svc, { name: 'alarms', key: 'alarm_id', where: 'told_at < ?' })
}
