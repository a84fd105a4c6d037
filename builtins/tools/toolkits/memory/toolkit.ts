import { lineOf, Memory, partOf } from '#core/memory/contract'
import { type PluginHandle, z } from '#kernel'
import { type Toolkit, tool } from '#tools/toolkits/contract'

/** Maximum length of a value, and number of characters shown at a time. */
const LONGEST = 10_000
/** Maximum number of existing keys listed when an agent asks for an unknown key. */
const NAMED = 20

const key = z.string().trim().min(1).max(200).describe('A short name, such as "favourite colour"')

/** Tools for values under keys, which persist over goals and restarts. */
export function memoryToolkit(svc: PluginHandle): Toolkit {
  const valuesOf = (agent_id: string) => svc.use(Memory).values(agent_id)
  return {
    name: 'memory',
    tools: [
      tool({
        name: 'memory_get',
        description:
          'Read the value that you stored under a key with memory_set. For an unknown key, your newest keys are listed.',
        parameters: z.object({
          key,
          offset: z.coerce
            .number()
            .int()
            .min(0)
            .default(0)
            .describe('Number of characters to skip, to continue a long value'),
        }),
        read_only: true,
        async execute({ key, offset }, { agent_id }) {
          const values = valuesOf(agent_id)
          const value = await values.get(key)
          if (value !== undefined) return partOf(value, offset, LONGEST) || '[The value is empty.]'
          const keys = (await values.entries(NAMED)).map(([name]) => JSON.stringify(lineOf(name, 200)))
          const known = keys.length > 0 ? `Your newest keys: ${keys.join(', ')}.` : 'You have stored no values yet.'
          return `[Nothing is stored under ${JSON.stringify(key)}. ${known}]`
        },
      }),
      tool({
        name: 'memory_set',
        description:
          'Store a value under a key, to remember in later goals and tasks. To correct a value, store it under the same key.',
        parameters: z.object({
          key,
          value: z.string().max(LONGEST).describe('What to remember; empty removes the key'),
        }),
        idempotent: true,
        async execute({ key, value }, call) {
          const values = valuesOf(call.agent_id)
          if (value.trim() === '') {
            const removed = await values.remove(key)
            return removed ? `Removed ${JSON.stringify(key)}.` : `Nothing was stored under ${JSON.stringify(key)}.`
          }
          await values.set(key, value, await svc.use(Memory).origin(call, 'memory_set'))
          return `Stored under ${JSON.stringify(key)}.`
        },
      }),
    ],
  }
}
