import { type ImageSource, ToolImages } from '#core/images/contract'
import { describeIssues, issuesOf, type PluginHandle } from '#kernel'
import { Guardrails } from '#safety/guardrails/contract'
import type { Tool } from '#tools/toolkits/contract'
import type { ToolSet } from './contract.ts'
import { textOf } from './loop/tool-call.ts'

/** Returns the tools with guardrails on their arguments and results, if any are configured. */
export function guardedTools(svc: PluginHandle, set: ToolSet): ToolSet {
  const guardrails = svc.has(Guardrails) ? svc.use(Guardrails) : undefined
  if (!guardrails?.watches('tool_arguments') && !guardrails?.watches('tool_result')) return set
  return {
    ...set,
    find(name) {
      const tool = set.find(name)
      return tool && guardTool(guardrails, tool)
    },
  }
}

function guardTool(guardrails: Guardrails, tool: Tool): Tool {
  return {
    ...tool,
    async execute(args: never, call) {
      const { agent_id } = call
      const given = await clean(args, async text => {
        const checked = await guardrails.check('tool_arguments', text, { agent_id })
        if (checked.action === 'block') throw new Error('a guardrail blocked this call because of its arguments')
        return checked.text
      })
      const result = await tool.execute(given === args ? args : ((await fitting(tool, given)) as never), call)
      const text = textOf(result, call.result_tokens)
      const checked = await guardrails.check('tool_result', text, { agent_id })
      if (checked.action === 'block') return '[The result was withheld by a guardrail.]'
      // Guardrails cannot check the content of an image.
      if (result instanceof ToolImages && guardrails.watches('tool_result')) {
        return [checked.text, ...result.images.map(withheldImage)].join('\n')
      }
      if (checked.text === text) return result
      return result instanceof ToolImages ? new ToolImages(checked.text, result.images) : checked.text
    },
  }
}

function withheldImage({ name = 'image' }: ImageSource): string {
  return `[The image "${name}" was withheld: guardrails check the results of tools, but cannot check images.]`
}

/** Returns the value with each string checked; the same object if nothing changed. */
async function clean(value: unknown, check: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof value === 'string') return check(value)
  if (typeof value !== 'object' || value === null) return value
  const entries = await Promise.all(Object.entries(value).map(async ([key, each]) => [key, await clean(each, check)]))
  if (entries.every(([key, each]) => Object.is(each, (value as Record<string, unknown>)[key as string]))) return value
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries)
}

/**
 * Validates arguments that a guardrail changed.
 * @throws if the tool does not accept them
 */
async function fitting(tool: Tool, args: unknown): Promise<unknown> {
  const parsed = await tool.parameters.safeParseAsync(args)
  if (parsed.success) return parsed.data
  throw new Error(
    `a guardrail removed a part of the arguments, and now they are invalid: ${describeIssues(issuesOf(parsed.error))}`,
  )
}
