import type { PluginDefinition } from '#kernel'
import type { ReplayVerdict } from '#observability/recordings/contract'
import { order } from '../../kernel/host/order.ts'
import { testHost } from './test-host.ts'

/**
 * Replays a recording that `svc replay <run> --save <file>` wrote, offline and with the current code.
 * @param plugins plugins of the recorded project, as `import plugin from './plugins/mine.ts'` gives them
 * @example expect(await replayRecording('test/run.svcrec')).toMatchObject({ same: true, divergence: null })
 */
export async function replayRecording(file: string, plugins: readonly PluginDefinition[] = []): Promise<ReplayVerdict> {
  const { BUILTINS } = await import('../../builtins/index.ts')
  const { Recordings } = await import('#observability/recordings/contract')
  await using home = await testHost({ builtins: BUILTINS, roles: ['cli'], clock: 'system' })
  const loaded = plugins.map(definition => ({ definition, origin: `plugins/${definition.name}.ts`, load_ms: 0 }))
  for (const { definition, origin } of order(loaded)) await home.kernel.host.add(definition, origin)
  return await home.kernel.use(Recordings).replay(file, { signal: new AbortController().signal })
}
