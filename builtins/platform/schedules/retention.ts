import type { PluginHandle } from '#kernel'
import { forgets } from '#platform/retention/contract'

/** Removes alarms that fired, once their agent was told. */
export function schedulesForget(svc: PluginHandle): void {
  forgets(svc, { name: 'alarms', key: 'alarm_id', where: 'told_at < ?' })
}
