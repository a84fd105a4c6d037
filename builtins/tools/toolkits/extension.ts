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
      // The point refuses the tool, with all that it lacks.
      if (typeof tool?.execute !== 'function') return tool
      const call: PluginCall<[never, ToolCall]> = {
        kind: 'tool',
        name: tool.name,
        fit: (args, call) => [tool.parameters.parse(args) as never, call],
      }
      return { ...tool, execute: interceptor.wrap(call, (args, call) => tool.execute(args, call)) }
    })
    return svc.add(Toolkits, { ...given, tools })
  },
  interceptTools(given) {
    checkFields(ToolInterceptors.name, ToolInterceptors.options.has, given, svc.name)
    return svc.add(ToolInterceptors, interceptor ? withCounts(given, interceptor) : given)
  },
})

/** Wraps the functions of an interceptor, so that its failures count as those of the plugin. */
function withCounts(given: ToolInterceptor, interceptor: Interceptor): ToolInterceptor {
  const { name, check, intercept } = given
  const callOf = (part: string) => ({ kind: 'tool', name: `interceptor ${name}${part}` }) as const
  return {
    ...given,
    ...(check ? { check: interceptor.wrap(callOf(' (check)'), check.bind(given)) } : {}),
    ...(intercept ? { intercept: countedIntercept(intercept.bind(given), interceptor, callOf('')) } : {}),
  }
}

type Intercept = NonNullable<ToolInterceptor['intercept']>

/** Lets failures of the tool itself pass uncounted. */
function countedIntercept(intercept: Intercept, interceptor: Interceptor, call: PluginCall<Parameters<Intercept>>) {
  const run = interceptor.wrap(call, async (args, toolCall, next, tool) => {
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
      return { result: await intercept(args, toolCall, inner, tool) }
    } catch (error) {
      if (failed && failed.error === error) return failed
      throw error
    }
  })
  return async (...args: Parameters<Intercept>) => {
    const end = await run(...args)
    if ('error' in end) throw end.error
    return end.result
  }
}
