import { checkFields, type Extension, type Interceptor, type PluginCall } from '#kernel'
import {
  type NextCall,
  type Tool,
  type ToolCall,
  type ToolInterceptor,
  ToolInterceptors,
  type Toolkit,
  Toolkits,
} from '#tools/toolkits/contract'

/** Adds the methods `toolkit` and `interceptTools` to plugin handles. */
export const toolkitsExtension: Extension = (svc, { ofFile, interceptor }) => ({
  toolkit(toolkit) {
    checkFields(Toolkits.name, Toolkits.options.has, toolkit, svc.name)
    const given: Toolkit = ofFile ? { everyday: true, ...toolkit, group: 'plugins' } : toolkit
    if (!interceptor) return svc.add(Toolkits, given)
    const tools = toolkit.tools.map((tool): Tool => {
      const call: PluginCall<[never, ToolCall]> = {
        ...{ kind: 'tool', name: tool.name },
        fit: (args, call) => [tool.parameters.parse(args) as never, call],
      }
      return { ...tool, execute: interceptor.wrap(call, (args, call) => tool.execute(args, call)) }
    })
    return svc.add(Toolkits, { ...given, tools })
  },
  interceptTools(given) {
    checkFields(ToolInterceptors.name, ToolInterceptors.options.has, given, svc.name)
    return svc.add(ToolInterceptors, interceptor ? counted(given, interceptor) : given)
  },
})

type Check = NonNullable<ToolInterceptor['check']>

/** Wraps the functions of an interceptor, so that its failures count as those of the plugin. */
function counted(given: ToolInterceptor, interceptor: Interceptor): ToolInterceptor {
  const callOf = (part: string) => ({ kind: 'tool', name: `interceptor ${given.name}${part}` }) as const
  const check = interceptor.wrap(callOf(' (check)'), (...asked: Parameters<Check>) => given.check?.(...asked))
  // Failures of the tool itself pass through the interceptor and do not count.
  const intercept = interceptor.wrap(callOf(''), async (args: unknown, call: ToolCall, next: NextCall, tool: Tool) => {
    let failed: { error: unknown } | undefined
    const inner: NextCall = async changed => {
      try {
        return await next(changed)
      } catch (error) {
        failed = { error }
        throw error
      }
    }
    try {
      return { result: await given.intercept?.(args, call, inner, tool) }
    } catch (error) {
      if (failed && failed.error === error) return failed
      throw error
    }
  })
  return {
    ...given,
    ...(given.check ? { check } : {}),
    ...(given.intercept
      ? {
          async intercept(...asked) {
            const end = await intercept(...asked)
            if ('error' in end) throw end.error
            return end.result
          },
        }
      : {}),
  }
}
