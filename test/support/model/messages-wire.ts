import { faultIn, type MessagesRequestBody, SIGNATURE } from './messages-rules.ts'
import type { Answer } from './model-server.ts'
import { type ModelRequestBody, type Refusal, refuse, tokensIn } from './wire-rules.ts'

type Block = Record<string, unknown>
/** An event of a stream. */
export type StreamedEvent = Block & { type: string }

/** Converts a request of Anthropic's Messages API to OpenAI's chat completions, so that one script reads both. */
export function asChat({
  model,
  max_tokens,
  stream,
  system = [],
  messages,
  tools,
}: MessagesRequestBody): ModelRequestBody {
  return {
    model,
    max_tokens,
    ...(stream === undefined ? {} : { stream }),
    messages: [
      ...(system.length > 0 ? [{ role: 'system', content: system.map(({ text }) => text).join('\n') }] : []),
      ...messages.flatMap(({ role, content }) => chatMessages(role, content)),
    ],
    ...(tools
      ? {
          tools: tools.map(({ name, description, input_schema }) => {
            return { type: 'function' as const, function: { name, description, parameters: input_schema } }
          }),
        }
      : {}),
  }
}

function chatMessages(role: string, content: readonly Block[]): ModelRequestBody['messages'] {
  const results = content
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id, content: said }) => ({
      role: 'tool',
      tool_call_id: String(tool_use_id),
      content: String(said ?? ''),
    }))
  const text = content.flatMap(({ type, text: said }) => (type === 'text' ? [String(said)] : [])).join('\n')
  const tool_calls = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }))
  if (!text && tool_calls.length === 0) return results
  return [...results, { role, content: text, ...(tool_calls.length > 0 ? { tool_calls } : {}) }]
}

/** Returns how Anthropic would refuse a request; undefined when it would answer. */
export function messagesRefusal(body: MessagesRequestBody, window = Number.POSITIVE_INFINITY): Refusal | undefined {
  const fault = faultIn(body)
  if (fault) return refuse(400, fault, { code: 'invalid_request_error' })
  const tokens = tokensIn(asChat(body))
  return tokens + body.max_tokens > window
    ? refuse(400, `prompt is too long: ${tokens} tokens > ${window} maximum`)
    : undefined
}

/** Returns the content of an answer. Thinking comes first, and is signed. */
export function blocksOf({ reasoning, text, tool_calls }: Answer, n: number): Block[] {
  return [
    ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature: SIGNATURE }] : []),
    ...(text ? [{ type: 'text', text }] : []),
    ...tool_calls.map(({ id, name, arguments: args }, at) => {
      return { type: 'tool_use', id: id ?? `toolu_${n}_${at}`, name, input: inputOf(args) }
    }),
  ]
}

/** Parses arguments. This protocol cannot send arguments that are not JSON, so they are wrapped. */
function inputOf(args: string): unknown {
  try {
    return JSON.parse(args)
  } catch {
    return { unparsed: args }
  }
}

/** Returns the end of an answer, as both forms have it. */
export function endOfMessage({ finish_reason, tool_calls }: Answer): { stop_reason: string; stop_sequence: null } {
  const ends: Record<string, string> = { length: 'max_tokens', content_filter: 'refusal' }
  const stop_reason = ends[finish_reason ?? ''] ?? (tool_calls.length > 0 ? 'tool_use' : 'end_turn')
  return { stop_reason, stop_sequence: null }
}

/** The events of one block, its content in two pieces. */
export function blockEvents(
  index: number,
  { type, text, thinking, signature, input, ...rest }: Block,
): StreamedEvent[] {
  const begun = { text: { text: '' }, thinking: { thinking: '', signature: '' }, tool_use: { ...rest, input: {} } }
  const said = String(type === 'tool_use' ? JSON.stringify(input) : (text ?? thinking))
  const half = Math.ceil(said.length / 2)
  const deltas = [said.slice(0, half), said.slice(half)].filter(Boolean).map(piece => {
    if (type === 'tool_use') return { type: 'input_json_delta', partial_json: piece }
    return type === 'text' ? { type: 'text_delta', text: piece } : { type: 'thinking_delta', thinking: piece }
  })
  if (type === 'thinking') deltas.push({ type: 'signature_delta', signature } as never)
  return [
    { type: 'content_block_start', index, content_block: { type, ...begun[type as keyof typeof begun] } },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}
