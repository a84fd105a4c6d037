import type { PluginDefinition } from '#kernel'
import { testHost } from '../../support/index.ts'
import { AGENT_MODULES, spawn, WORKER } from '../core/models/model-host.ts'
import { use } from '../use.ts'

/**
 * Opens a test host with two agents, which can use tools as a pursuit does: the writes of a call are committed with its
 * outcome.
 */
export async function testHostWithTools(builtins: readonly PluginDefinition[], config: Record<string, unknown> = {}) {
  const home = await testHost({
    builtins: [...AGENT_MODULES, ...builtins],
    roles: ['cli'],
    config,
    files: { 'profiles/worker.yaml': WORKER },
  })
  const ids = [await spawn(home), await spawn(home)] as const
  return Object.assign(home, {
    ids,
    use: (name: string, args = {}, agent_id = ids[0]) => use(home, name, args, { agent_id, workspace: home.root }),
  })
}
