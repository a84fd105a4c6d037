import memory from '#core/memory/index'
import a2a from '#society/a2a/index'
import type { Citizen, LifeMoment } from '#society/economy/contract'
import economy from '#society/economy/index'
import type { Ledger } from '#society/economy/views/views'
import world from '#tools/toolkits/world/index'
import { Store } from '../../../index.ts'
import { type TestHost, type TestHostOptions, testHost, until } from '../../support/index.ts'
import { AGENT_MODULES, spawn, WORKER } from '../core/models/model-host.ts'
import { use } from '../use.ts'

/** Modules of the simulated world, in addition to those that agents need. */
export const WORLD = [memory, a2a, economy, world]

export interface EconomyHostOptions extends Omit<TestHostOptions, 'config'> {
  /** Settings of the section `economy`, which is enabled. */
  rules?: Record<string, unknown>
  agents?: number
}

/** Creates a world with manual beats; agents choose with the embedded model, and no cycle runs. */
export async function testHostWithEconomy({
  rules = {},
  agents = 1,
  builtins = [],
  ...options
}: EconomyHostOptions = {}) {
  const home = await testHost({
    roles: ['cli'],
    builtins: [...AGENT_MODULES, ...WORLD, ...builtins],
    files: { 'profiles/worker.yaml': WORKER },
    ...options,
    config: { economy: { enabled: true, ...rules }, model: { sim_delay: 0 } } as never,
  })
  const ids: string[] = []
  for (let n = 0; n < agents; n++) ids.push(await spawn(home))
  let beats = 0
  return Object.assign(home, {
    ids,
    /** Runs beats, each until all its choices are made. */
    async runBeats(count: number) {
      for (let n = 0; n < count; n++) {
        await home.kernel.hooks.emit('beat', { beat: ++beats })
        await waitForLifeEvents(home)
      }
    },
    /** Uses a tool as in a pursuit. */
    use: (name: string, args = {}, agent_id = ids[0]!, call_id?: string) =>
      use(home, name, args, { agent_id, workspace: home.root, ...(call_id ? { call_id } : {}) }),
  })
}

/** Waits until no life event is waiting for a choice. */
export async function waitForLifeEvents({ kernel }: TestHost): Promise<void> {
  const store = kernel.use(Store)
  await until(async () => !(await store.get("SELECT 1 FROM life_events WHERE status = 'waiting' OR remembered = 0")))
}

export const citizen = ({ kernel }: TestHost, id: string) =>
  kernel.invoke('economy.citizen', { id }) as Promise<Citizen>
export const ledger = ({ kernel }: TestHost, input = {}) => kernel.invoke('economy.ledger', input) as Promise<Ledger>
export const life = ({ kernel }: TestHost, id: string) => kernel.invoke('economy.life', { id }) as Promise<LifeMoment[]>
