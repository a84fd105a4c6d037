import type { PluginDefinition } from '#kernel'
import { type Effect, Toolkits } from '#kernel'
import { Store } from '../../index.ts'
import { type House, house } from '../support/index.ts'
import { ROOMS, spawn, WORKER } from './rooms.ts'

/** A house with two agents, and a way to use tools as a pursuit does: what a call writes is committed with its outcome. */
export async function tooled(builtins: readonly PluginDefinition[], config: Record<string, unknown> = {}) {
  const home = await house({
    ...{ builtins: [...ROOMS, ...builtins], roles: ['cli'], config },
    files: { 'profiles/worker.yaml': WORKER },
  })
  const ids = [await spawn(home), await spawn(home)] as const
  return Object.assign(home, {
    ids,
    use: (name: string, args = {}, agent_id = ids[0]) => use(home, name, args, agent_id),
  })
}

async function use({ kernel, root }: House, name: string, args: object, agent_id: string): Promise<string> {
  const found = kernel
    .list(Toolkits)
    .flatMap(({ tools }) => tools)
    .find(tool => tool.name === name)
  if (!found) throw new Error(`there is no tool ${name}`)
  const effects: Effect[] = []
  try {
    const result = await found.execute(found.parameters.parse(args), {
      ...{ call_id: 'c1', agent_id, goal_id: null, cycle_num: 1, signal: new AbortController().signal },
      ...{ workspace: root, idempotency_key: 'k', effect: effect => void effects.push(effect) },
    })
    if (!(await kernel.use(Store).apply(effects))) return 'refused'
    return String(result)
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}
