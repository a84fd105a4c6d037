import type { PluginDefinition } from '#kernel'
import { type ToolCall, Toolkits } from '#kernel'
import memory from '../../builtins/memory/index.ts'
import { type House, type HouseOptions, house } from '../support/index.ts'
import { ROOMS } from './rooms.ts'

let seed = 1000

/** A house whose agents remember, with these toolkits. Each has ids of its own, as processes have. */
export const remembering = (toolkits: readonly PluginDefinition[] = [], options: HouseOptions = {}) =>
  house({
    seed: ++seed,
    roles: ['server'],
    ...options,
    builtins: [...ROOMS, memory, ...toolkits, ...(options.builtins ?? [])],
  })

let calls = 0

/** Calls a tool as the loop does; what it throws is told as the model would read it. */
export async function use(
  { kernel }: House,
  name: string,
  args: Record<string, unknown> = {},
  { agent_id = 'worker-1', call_id = `call-${++calls}`, goal_id = null as string | null } = {},
): Promise<string> {
  const tool = kernel.points
    .list(Toolkits)
    .flatMap(({ value }) => value.tools)
    .find(each => each.name === name)
  if (!tool) throw new Error(`there is no tool ${name}`)
  const call: ToolCall = {
    ...{ call_id, agent_id, goal_id, cycle_num: 1, signal: new AbortController().signal },
    ...{ workspace: '/nowhere', idempotency_key: call_id, effect: () => {} },
  }
  try {
    return String(await tool.execute(tool.parameters.parse(args), call))
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}
