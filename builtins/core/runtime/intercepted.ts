import { describeIssues, issuesOf, type PluginHandle } from '#kernel'
import { type NextCall, type Tool, type ToolInterceptor, ToolInterceptors } from '#tools/toolkits/contract'
import type { ToolSet } from './contract.ts'

/** Returns the tools with the interceptors around their calls. */
export function interceptedTools(svc: PluginHandle, set: ToolSet): ToolSet {
  return {
    ...set,
    find(name, offered) {
      const tool = set.find(name, offered)
      const around = tool ? svc.list(ToolInterceptors).filter(({ applies }) => applies?.(tool) ?? true) : []
      return tool && around.length > 0 ? interceptTool(tool, around.toSorted(byStage)) : tool
    },
  }
}

function byStage({ stage: one = 0 }: ToolInterceptor, { stage: other = 0 }: ToolInterceptor): number {
  return one - other
}

function interceptTool(tool: Tool, around: readonly ToolInterceptor[]): Tool {
  const admit: Tool['execute'] = async (args, call) => {
    for (const each of around) await each.check?.(args, call, tool)
  }
  const hasCheck = tool.check !== undefined || around.some(each => each.check)
  const check: Tool['check'] = async (args, call) => {
    await admit(args, call)
    await tool.check?.(args, call)
  }
  return {
    ...tool,
    ...(hasCheck ? { check } : {}),
    async execute(given, call) {
      await admit(given, call)
      const run = async (args: unknown) => tool.execute(args === given ? args : await validArguments(tool, args), call)
      const first = around.reduceRight<(args: unknown) => Promise<unknown>>((inner, each) => {
        if (!each.intercept) return inner
        return async args => {
          const next: NextCall = (changed = args) => inner(changed)
          return each.intercept?.(args, call, next, tool)
        }
      }, run)
      return first(given)
    },
  }
}

/** @throws if the tool does not accept arguments that an interceptor changed */
async function validArguments(tool: Tool, args: unknown): Promise<unknown> {
  const parsed = await tool.parameters.safeParseAsync(args)
  if (parsed.success) return parsed.data
  const problem = describeIssues(issuesOf(parsed.error))
  throw new Error(`a plugin or a guardrail changed the arguments, and now they are invalid: ${problem}`)
}
