import memory from '#core/memory/index'
import type { PluginDefinition } from '#kernel'
import { type HouseOptions, house } from '../support/index.ts'
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
