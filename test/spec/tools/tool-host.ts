import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import sandbox from '#safety/sandbox/index'
import type { ToolCall } from '#tools/toolkits/contract'
import { type TestHost, type TestHostOptions, testHost } from '../../support/index.ts'
import { use } from '../use.ts'

type Use = (name: string, args?: Record<string, unknown>, call?: Partial<ToolCall>) => Promise<string>

export interface ToolHost extends TestHost {
  workspace: string
  use: Use
}

/**
 * Opens a test host with the sandbox and some toolkits, on the machine's clock, and creates an agent's workspace in it.
 */
export async function hands(options: TestHostOptions & { agent_id?: string } = {}): Promise<ToolHost> {
  const { agent_id = 'coder-1', builtins = [], env = {}, ...rest } = options
  const home = await testHost({
    clock: 'system',
    ...rest,
    builtins: [...new Set([sandbox, ...builtins])],
    env: { PATH: process.env.PATH!, ...env },
  })
  const workspace = join(await realpath(home.root), '.svc/workspaces', agent_id)
  await mkdir(workspace, { recursive: true })
  const asAgent: Use = (name, args, call) => use(home, name, args, { agent_id, workspace, effect: () => {}, ...call })
  return Object.assign(home, { workspace, use: asAgent })
}
