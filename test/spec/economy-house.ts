import memory from '#core/memory/index'
import a2a from '#society/a2a/index'
import type { Citizen, LifeMoment } from '#society/economy/contract'
import economy from '#society/economy/index'
import type { Ledger } from '#society/economy/views'
import world from '#tools/toolkits/world/index'
import { Store } from '../../index.ts'
import { type House, type HouseOptions, house, until } from '../support/index.ts'
import { ROOMS, spawn, WORKER } from './rooms.ts'
import { use } from './use.ts'

/** The rooms of the world beside those in which agents live. */
export const WORLD = [memory, a2a, economy, world]

export interface WorldOptions extends Omit<HouseOptions, 'config'> {
  /** Of the section `economy`, which is on. */
  rules?: Record<string, unknown>
  agents?: number
}

/** A world whose beats are in the test's hand; its agents choose by the embedded model, and no cycle runs. */
export async function worldHouse({ rules = {}, agents = 1, builtins = [], ...options }: WorldOptions = {}) {
  const home = await house({
    ...{ roles: ['cli'], builtins: [...ROOMS, ...WORLD, ...builtins] },
    files: { 'profiles/worker.yaml': WORKER },
    ...options,
    config: { economy: { enabled: true, ...rules }, model: { sim_delay: 0 } } as never,
  })
  const ids: string[] = []
  for (let n = 0; n < agents; n++) ids.push(await spawn(home))
  let beats = 0
  return Object.assign(home, {
    ids,
    /** Lets beats pass, each with all that was chosen in it. */
    async beats(count: number) {
      for (let n = 0; n < count; n++) {
        await home.kernel.hooks.emit('beat', { beat: ++beats })
        await decided(home)
      }
    },
    /** Uses a tool as a pursuit does. */
    use: (name: string, args = {}, agent_id = ids[0]!, call_id?: string) =>
      use(home, name, args, { agent_id, workspace: home.root, ...(call_id ? { call_id } : {}) }),
  })
}

/** Waits until no life event waits for a choice. */
export async function decided({ kernel }: House): Promise<void> {
  const store = kernel.use(Store)
  await until(async () => !(await store.get("SELECT 1 FROM life_events WHERE status = 'waiting' OR remembered = 0")))
}

export const citizen = ({ kernel }: House, id: string) => kernel.invoke('economy.citizen', { id }) as Promise<Citizen>
export const ledger = ({ kernel }: House, input = {}) => kernel.invoke('economy.ledger', input) as Promise<Ledger>
export const life = ({ kernel }: House, id: string) => kernel.invoke('economy.life', { id }) as Promise<LifeMoment[]>
