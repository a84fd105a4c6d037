import type { PluginHandle } from '#kernel'
import { type OpenWork, OpenWorkSources } from '../contract.ts'

/** Returns the work that others do for a goal which does not wait for it. */
export async function openWorkOf(svc: PluginHandle, goal_id: string): Promise<OpenWork[]> {
  return (await Promise.all(svc.list(OpenWorkSources).map(source => source.open(goal_id)))).flat()
}

/** Names what a goal waits for until its agent is woken. */
export async function describeParked(svc: PluginHandle, goal_id: string): Promise<string> {
  const open = await openWorkOf(svc, goal_id)
  return open.map(({ what }) => what).join(', ') || 'a background process of its agent to end'
}
