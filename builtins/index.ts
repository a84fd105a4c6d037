import type { PluginDefinition } from '#kernel'

/** Reading this list is reading what the service can do. */
const ROOMS: readonly (() => Promise<{ default: PluginDefinition }>)[] = [
  () => import('./watchdog/index.ts'),
  () => import('./store/index.ts'),
  () => import('./models/index.ts'),
  () => import('./budget/index.ts'),
  () => import('./guardrails/index.ts'),
  () => import('./profiles/index.ts'),
  () => import('./agents/index.ts'),
  () => import('./runtime/index.ts'),
  () => import('./memory/index.ts'),
  () => import('./net/index.ts'),
  () => import('./sandbox/index.ts'),
  () => import('./toolkits/file/index.ts'),
  () => import('./toolkits/notepad/index.ts'),
  () => import('./toolkits/shell/index.ts'),
  () => import('./toolkits/git/index.ts'),
  () => import('./toolkits/orchestrator/index.ts'),
  () => import('./toolkits/memory/index.ts'),
  () => import('./toolkits/knowledge/index.ts'),
  () => import('./toolkits/links/index.ts'),
  () => import('./toolkits/web/index.ts'),
  () => import('./toolkits/clipboard/index.ts'),
  () => import('./approvals/index.ts'),
  () => import('./goals/index.ts'),
  () => import('./waking/index.ts'),
  () => import('./schedules/index.ts'),
  () => import('./toolkits/schedule/index.ts'),
  () => import('./toolkits/alarm/index.ts'),
  () => import('./toolkits/task/index.ts'),
  () => import('./sub-agents/index.ts'),
  () => import('./a2a/index.ts'),
  () => import('./toolkits/comms/index.ts'),
  () => import('./toolkits/a2a/index.ts'),
  () => import('./delegation/index.ts'),
  () => import('./toolkits/delegation/index.ts'),
  () => import('./patterns/index.ts'),
  () => import('./sessions/index.ts'),
  () => import('./tasks/index.ts'),
  () => import('./runs/index.ts'),
  () => import('./events/index.ts'),
  () => import('./settings/index.ts'),
  () => import('./metrics/index.ts'),
  () => import('./retention/index.ts'),
  () => import('./plugins-admin/index.ts'),
  () => import('./authoring/index.ts'),
  () => import('./rest/index.ts'),
  () => import('./dashboard/index.ts'),
  () => import('./docs/index.ts'),
  () => import('./cli/index.ts'),
  () => import('./daemon/index.ts'),
]

/** All builtins. Each is a plugin like any author's. */
export async function loadBuiltins(): Promise<PluginDefinition[]> {
  const rooms: PluginDefinition[] = []
  // One after the other: together they would need more open files than some systems give.
  for (const room of ROOMS) rooms.push((await room()).default)
  return rooms
}
