import { type ImageSource, ToolImages } from '#core/images/contract'
import { resultText } from '#lib/result-text'
import type { ToolInterceptor } from '#tools/toolkits/contract'
import type { Guardrails } from './contract.ts'

/** Creates the interceptor that checks the arguments and results of tools, while a rule does. */
export function checkedToolCalls(guardrails: Guardrails): ToolInterceptor {
  return {
    name: 'guardrails',
    // What the model writes and reads is checked, whatever other interceptors do.
    stage: Number.NEGATIVE_INFINITY,
    applies: () => guardrails.watches('tool_arguments') || guardrails.watches('tool_result'),
    async intercept(args, call, next) {
      const { agent_id } = call
      const given = await clean(args, async text => {
        const checked = await guardrails.check('tool_arguments', text, { agent_id })
        if (checked.action === 'block') throw new Error('a guardrail blocked this call because of its arguments')
        return checked.text
      })
      const result = await next(given)
      const text = resultText(result instanceof ToolImages ? result.text : result, call.result_tokens)
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
