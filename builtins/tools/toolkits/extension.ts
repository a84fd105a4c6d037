import { checkFields, type Extension, type PluginCall } from '#kernel'
import { type Tool, type ToolCall, type Toolkit, Toolkits } from '#tools/toolkits/contract'

/** Adds the method `toolkit` to plugin handles. */
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
})
