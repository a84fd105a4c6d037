import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type ToolCall, Toolkits } from '#kernel'
import sandbox from '../../builtins/sandbox/index.ts'
import { type House, type HouseOptions, house } from '../support/index.ts'

/** Uses a tool as the runtime does: arguments through the tool's own schema, a throw as the text of an error. */
type Use = (name: string, args?: Record<string, unknown>, call?: Partial<ToolCall>) => Promise<string>

export interface Hands extends House {
  workspace: string
  use: Use
}

/** A house with the sandbox and some toolkits, on the machine's clock, and an agent's workspace in it. */
export async function hands(options: HouseOptions & { agent_id?: string } = {}): Promise<Hands> {
  const { agent_id = 'coder-1', builtins = [], env = {}, ...rest } = options
  const home = await house({
    clock: 'system',
    ...rest,
    builtins: [...new Set([sandbox, ...builtins])],
    env: { PATH: process.env.PATH!, ...env },
  })
  const workspace = join(await realpath(home.root), '.svc/workspaces', agent_id)
  await mkdir(workspace, { recursive: true })
  const use: Use = async (name, args = {}, call = {}) => {
    const tool = home.kernel.points
      .list(Toolkits)
      .flatMap(({ value }) => value.tools)
      .find(each => each.name === name)!
    const context: ToolCall = {
      ...{ call_id: 'c1', agent_id, goal_id: null, cycle_num: 1, signal: new AbortController().signal },
      ...{ workspace, idempotency_key: 'k', effect: () => {} },
      ...call,
    }
    try {
      return String(await tool.execute(tool.parameters.parse(args), context))
    } catch (error) {
      return `error: ${(error as Error).message}`
    }
  }
  return Object.assign(home, { workspace, use })
}
