import memory from '#core/memory/index'
import type { PluginDefinition } from '#kernel'
import { type TestHostOptions, testHost } from '../../../support/index.ts'
import { AGENT_MODULES } from '../models/model-host.ts'

let seed = 1000

/** Opens a test host whose agents remember, with these toolkits. It has ids of its own, like a separate process. */
export const remembering = (toolkits: readonly PluginDefinition[] = [], options: TestHostOptions = {}) =>
  testHost({
    seed: ++seed,
    roles: ['server'],
    ...options,
    builtins: [...AGENT_MODULES, memory, ...toolkits, ...(options.builtins ?? [])],
  })
