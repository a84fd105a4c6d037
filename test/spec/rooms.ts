import type { AgentDetail } from '../../builtins/agents/contract.ts'
import agents from '../../builtins/agents/index.ts'
import budget from '../../builtins/budget/index.ts'
import type { Goal } from '../../builtins/goals/contract.ts'
import goals from '../../builtins/goals/index.ts'
import images from '../../builtins/images/index.ts'
import models from '../../builtins/models/index.ts'
import profiles from '../../builtins/profiles/index.ts'
import runtime from '../../builtins/runtime/index.ts'
import sandbox from '../../builtins/sandbox/index.ts'
import { Store } from '../../builtins/store/contract.ts'
import store from '../../builtins/store/index.ts'
import file from '../../builtins/toolkits/file/index.ts'
import notepad from '../../builtins/toolkits/notepad/index.ts'
import {
  type House,
  type HouseOptions,
  house,
  type ModelServer,
  type ModelServerOptions,
  modelServer,
  type Script,
} from '../support/index.ts'

/** What it takes for agents to live, without the faces. */
export const ROOMS = [store, images, models, budget, profiles, agents, runtime, sandbox, file, notepad, goals]

export const WORKER = 'name: worker\nrole: does what the script says\nmax_steps: 5\n'

/** A house whose agents ask a scripted model over real HTTP. */
export async function lived(
  script: Script,
  { serving = {}, ...options }: HouseOptions & { serving?: ModelServerOptions } = {},
): Promise<House & { server: ModelServer }> {
  const server = await modelServer({ ...serving, script })
  const home = await house({
    ...options,
    builtins: [...ROOMS, ...(options.builtins ?? [])],
    files: { 'profiles/worker.yaml': WORKER, ...options.files },
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted', ...options.env },
  })
  const close = home.close.bind(home)
  return Object.assign(home, {
    server,
    async close() {
      await close()
      await server.close()
    },
  })
}

/** Whether the request asks for a goal rather than for the next step towards one. */
export function asksForGoal({ prompt }: { prompt: string }): boolean {
  return prompt.includes('"goal":')
}

export const spawn = async ({ kernel }: House, preset = 'worker') =>
  ((await kernel.invoke('agents.spawn', { preset })) as AgentDetail).agent_id
export const detail = ({ kernel }: House, id: string) => kernel.invoke('agents.get', { id }) as Promise<AgentDetail>
export const goalsOf = ({ kernel }: House, id: string) => kernel.invoke('goals.list', { id }) as Promise<Goal[]>
/** What an SQL statement finds. */
export const rows = <R>({ kernel }: House, sql: string, params: readonly unknown[] = []) =>
  kernel.use(Store).all<R>(sql, params)
