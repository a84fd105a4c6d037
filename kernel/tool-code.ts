import { Activity } from './activity.ts'
import type { Tool, ToolCall } from './contributions.ts'
import { sentenceOf } from './errors.ts'
import type { Log } from './log.ts'

export interface ToolCodeParts {
  activity: Activity
  /** The place in the plugin's file that an error points at. */
  where: (error: unknown) => string
  log: Log
}

/** A plugin's tool whose calls are counted. All that it throws reaches the model; what is no ToolError is a failure, too. */
export function countedTool(tool: Tool, { activity, where, log }: ToolCodeParts): Tool {
  const what = `tool ${tool.name}`
  // A cancelled call ends by throwing.
  const isAnswer = (error: unknown, call: ToolCall | undefined) => call?.signal?.aborted || !Activity.isFailure(error)
  const run = activity.wrap(what, (args: never, call: ToolCall) => tool.execute(args, call), {
    expected: (error, _args, call) => isAnswer(error, call),
    fit: (args, call): [never, ToolCall] => [tool.parameters.parse(args) as never, call],
  })
  return {
    ...tool,
    async execute(args: never, call) {
      try {
        return await run(args, call)
      } catch (error) {
        if (!isAnswer(error, call)) {
          const { stack } = Object(error) as { stack?: string }
          log.error({ tool: tool.name, stack }, `${where(error)}: ${what}: ${sentenceOf(error)}`)
        }
        throw error
      }
    },
  }
}
