import type { PluginHandle } from '#kernel'
import { Guardrails } from '#safety/guardrails/contract'
import { markUntrusted } from '#safety/net/contract'
import { Sandbox } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import { cut } from './clean.ts'

/** Maximum answer length shown to a model, in characters: about 2,000 tokens. */
const ANSWER_CHARS = 8_000
/** Maximum answer length kept in a file, in characters. */
const KEPT_CHARS = 1_000_000
const ERROR_CHARS = 2_000

/**
 * Returns a server's answer as shown to the model. A longer answer is saved to a file of the agent, which the text
 * names.
 */
export async function answerOf(svc: PluginHandle, who: string, text: string, call: ToolCall): Promise<string> {
  if (text.trim() === '') return '[The tool returned no text.]'
  if (text.length <= ANSWER_CHARS) return markUntrusted(`the result of ${who}`, text)
  const file = await svc.use(Sandbox).keep(call, cut(text, KEPT_CHARS))
  const note = `[The whole result has ${text.length} characters; read on in ${file} with file_read.]`
  return `${markUntrusted(`the beginning of the result of ${who}`, cut(text, ANSWER_CHARS))}\n${note}`
}

/**
 * Returns the error that the model reads when a call failed. The server's words pass the guardrails for tool results.
 * @param what our own description of the failure
 */
export async function failureOf(
  svc: PluginHandle,
  who: string,
  text: string,
  { agent_id }: ToolCall,
  what = 'the call failed.',
): Promise<Error> {
  const message = markUntrusted(`the error message of ${who}`, cut(text.trim() || 'nothing', ERROR_CHARS))
  const guardrails = svc.has(Guardrails) ? svc.use(Guardrails) : undefined
  if (!guardrails?.watches('tool_result')) return new Error(`${what} ${message}`)
  const checked = await guardrails.check('tool_result', message, { agent_id })
  return new Error(`${what} ${checked.action === 'block' ? '[A guardrail withheld the reason.]' : checked.text}`)
}
