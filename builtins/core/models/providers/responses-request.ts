import type { ResponseCreateParams, ResponseInputItem } from 'openai/resources/responses/responses'
import { z } from '#kernel'
import type { ModelRequest, SentMessage } from '../contract.ts'
import { responsesParameters } from '../parameters/responses.ts'
import { accepted, isStrict, wellFormed, wireArguments } from './openai-wire.ts'
import type { CacheHints } from './prompt-cache.ts'

type Base = Omit<ResponseCreateParams, 'stream' | 'stream_options'>

/**
 * Converts a request to the format of OpenAI's Responses API. Nothing is stored at the server; the model's reasoning is
 * returned encrypted and sent back. Sources: https://platform.openai.com/docs/guides/migrate-to-responses,
 * https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
 */
export function responsesRequest(request: ModelRequest, { fields, mark = {} }: CacheHints): Base {
  const { model, messages, tools, response_schema } = request
  const { text, ...parameters } = responsesParameters(request)
  const prompt = messages.findIndex(({ role }) => role !== 'system') - 1
  const format = response_schema && {
    format: { type: 'json_schema' as const, ...response_schema, strict: isStrict(response_schema.schema) },
  }
  return {
    ...accepted({ ...fields, include: ['reasoning.encrypted_content'] }, request),
    ...parameters,
    model,
    store: false,
    input: messages.flatMap((message, n) => itemsOf(message, n === prompt ? accepted(mark, request) : {})),
    ...(tools.length > 0 ? { tools: tools.map(tool => ({ type: 'function' as const, ...tool, strict: false })) } : {}),
    ...(text || format ? { text: { ...text, ...format } } : {}),
  }
}

/** @param mark ends a part to be cached */
function itemsOf(message: SentMessage, mark: Record<string, unknown>): ResponseInputItem[] {
  const { role, content: text, tool_calls = [], tool_call_id = '', images = [] } = message
  const content = wellFormed(text)
  if (role === 'tool') return [{ type: 'function_call_output', call_id: tool_call_id, output: content }]
  if (role !== 'assistant') {
    const shown = images.map(({ media_type, data = '' }) => {
      return { type: 'input_image' as const, image_url: `data:${media_type};base64,${data}`, detail: 'auto' as const }
    })
    const said = content.trim() ? [{ type: 'input_text' as const, text: content, ...mark }] : []
    return [{ type: 'message', role, content: [...said, ...shown] }]
  }
  const { reasoning, phase } = keptIn(message)
  const items: ResponseInputItem[] = [
    ...(content.trim() ? [{ type: 'message' as const, role, content, ...(phase ? { phase } : {}) }] : []),
    ...tool_calls.map(({ id, name, arguments: args }) => {
      return { type: 'function_call' as const, call_id: id, name, arguments: wireArguments(args) }
    }),
  ]
  const before = (n: number) => reasoning.filter(({ after }) => after === n).map(({ item }) => item)
  // Reasoning must come before the item that it led to.
  return items.flatMap((item, n) => [...before(n), item]) as ResponseInputItem[]
}

/**
 * What OpenAI wants back with an answer: its reasoning items, each with the number of other items before it, and whether
 * its text is commentary or the final answer.
 */
const Kept = z.object({
  reasoning: z.array(z.object({ after: z.int(), item: z.looseObject({ type: z.literal('reasoning') }) })).default([]),
  phase: z.enum(['commentary', 'final_answer']).optional(),
})
export type Kept = z.input<typeof Kept>

function keptIn({ provider_data }: SentMessage): z.infer<typeof Kept> {
  return Kept.safeParse(provider_data?.fields).data ?? { reasoning: [] }
}
