import type { PluginDefinition } from '#kernel'
import { testHost } from '../../support/index.ts'
import { AGENT_MODULES, spawn, WORKER } from '../core/models/model-host.ts'
import { use } from '../use.ts'

/** A test host with two agents, and a way to use tools as a pursuit does: what a call writes is committed with its outcome. */
export async function testHostWithTools(builtins: readonly PluginDefinition[], config: Record<string, unknown> = {}) {
  const home = await testHost({
    ...{ builtins: [...AGENT_MODULES, ...builtins], roles: ['cli'], config },
    files: { 'profiles/worker.yaml': WORKER },
  })
  const ids = [await spawn(home), await spawn(home)] as const
  return Object.assign(home, {
    ids,
    use: (name: string, args = {}, agent_id = ids[0]) => use(home, name, args, { agent_id, workspace: home.root }),
  })
}
