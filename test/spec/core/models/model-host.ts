import type { AgentDetail } from '#core/agents/contract'
import agents from '#core/agents/index'
import type { Goal } from '#core/goals/contract'
import goals from '#core/goals/index'
import images from '#core/images/index'
import models from '#core/models/index'
import profiles from '#core/profiles/index'
import runtime from '#core/runtime/index'
import { Store } from '#platform/store/contract'
import store from '#platform/store/index'
import budget from '#safety/budget/index'
import sandbox from '#safety/sandbox/index'
import file from '#tools/toolkits/file/index'
import notepad from '#tools/toolkits/notepad/index'
import {
  type ModelServer,
  type ModelServerOptions,
  modelServer,
  type Script,
  type TestHost,
  type TestHostOptions,
  testHost,
} from '../../../support/index.ts'

/** The modules that agents need, without the interfaces. */
export const AGENT_MODULES = [store, images, models, budget, profiles, agents, runtime, sandbox, file, notepad, goals]

export const WORKER = 'name: worker\nrole: does what the script says\nmax_steps: 5\n'

/** Opens a test host whose agents ask a scripted model over real HTTP. */
export async function testHostWithModel(
  script: Script,
  { serving = {}, ...options }: TestHostOptions & { serving?: ModelServerOptions } = {},
): Promise<TestHost & { server: ModelServer }> {
  const server = await modelServer({ ...serving, script })
  const home = await testHost({
    ...options,
    builtins: [...AGENT_MODULES, ...(options.builtins ?? [])],
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

/** Returns whether the request asks for a goal rather than for the next step towards one. */
export function asksForGoal({ prompt }: { prompt: string }): boolean {
  return prompt.includes('"goal":')
}

export const spawn = async ({ kernel }: TestHost, preset = 'worker') =>
  ((await kernel.invoke('agents.spawn', { preset })) as AgentDetail).agent_id
export const detail = ({ kernel }: TestHost, id: string) => kernel.invoke('agents.get', { id }) as Promise<AgentDetail>
export const goalsOf = ({ kernel }: TestHost, id: string) => kernel.invoke('goals.list', { id }) as Promise<Goal[]>
/** Returns the rows that an SQL query finds. */
export const rows = <R>({ kernel }: TestHost, sql: string, params: readonly unknown[] = []) =>
  kernel.use(Store).all<R>(sql, params)
