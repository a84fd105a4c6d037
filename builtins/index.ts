import type { PluginDefinition } from '#kernel'

/** All builtins: reading this list is reading what the service can do. Each is a plugin like any author's. */
export async function loadBuiltins(): Promise<PluginDefinition[]> {
  const rooms = await Promise.all([
    import('./watchdog/index.ts'),
    import('./store/index.ts'),
    import('./models/index.ts'),
    import('./budget/index.ts'),
    import('./guardrails/index.ts'),
    import('./profiles/index.ts'),
    import('./agents/index.ts'),
    import('./runtime/index.ts'),
    import('./memory/index.ts'),
    import('./net/index.ts'),
    import('./toolkits/file/index.ts'),
    import('./toolkits/notepad/index.ts'),
    import('./approvals/index.ts'),
    import('./goals/index.ts'),
    import('./sessions/index.ts'),
    import('./tasks/index.ts'),
    import('./runs/index.ts'),
    import('./events/index.ts'),
    import('./settings/index.ts'),
    import('./metrics/index.ts'),
    import('./plugins-admin/index.ts'),
    import('./authoring/index.ts'),
    import('./rest/index.ts'),
    import('./dashboard/index.ts'),
    import('./docs/index.ts'),
    import('./cli/index.ts'),
    import('./daemon/index.ts'),
  ])
  return rooms.map(room => room.default)
}
