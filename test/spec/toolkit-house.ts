import type { PluginDefinition } from '#kernel'
import { house } from '../support/index.ts'
import { ROOMS, spawn, WORKER } from './rooms.ts'
import { use } from './use.ts'

/** A house with two agents, and a way to use tools as a pursuit does: what a call writes is committed with its outcome. */
export async function tooled(builtins: readonly PluginDefinition[], config: Record<string, unknown> = {}) {
  const home = await house({
    ...{ builtins: [...ROOMS, ...builtins], roles: ['cli'], config },
    files: { 'profiles/worker.yaml': WORKER },
  })
  const ids = [await spawn(home), await spawn(home)] as const
  return Object.assign(home, {
    ids,
    use: (name: string, args = {}, agent_id = ids[0]) => use(home, name, args, { agent_id, workspace: home.root }),
  })
}
