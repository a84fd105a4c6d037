import { z } from '#kernel'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import { includesArguments } from './checks.ts'
import type { ScenarioTool } from './contract.ts'

/** Name of the toolkit with a scenario's tools. */
export const PROPS = 'benchmark'

/** Creates the tools of a scenario, with their scripted replies. */
export function propsOf(tools: readonly ScenarioTool[]): Toolkit {
  return {
    name: PROPS,
    everyday: true,
    tools: tools.map(({ name, description, parameters, replies }) => {
      const given = new Map<object, number>()
      const shape = Object.entries(parameters).map(([key, what]) => [key, z.string().describe(what)])
      return tool({
        name,
        description,
        parameters: z.object(Object.fromEntries(shape) as Record<string, z.ZodString>),
        execute(args) {
          const reply = replies.find(
            each =>
              includesArguments(args, each.when) && (given.get(each) ?? 0) < (each.times ?? Number.POSITIVE_INFINITY),
          )
          if (!reply) throw new Error('there is no reply for these arguments')
          given.set(reply, (given.get(reply) ?? 0) + 1)
          if (reply.error) throw new Error(reply.text)
          return reply.text
        },
      })
    }),
  }
}
