import type { Answer } from './model-server.ts'
import { type ModelRequestBody, type Refusal, refuse, tokensIn } from './wire-rules.ts'

type Item = Record<string, unknown>

/** A request of OpenAI's Responses API as it came over the wire. */
export interface ResponsesRequestBody {
  model: string
  input: Item[]
  stream?: boolean
  store?: boolean
  include?: string[]
  max_output_tokens?: number
  reasoning?: { effort?: string; summary?: string }
  text?: { format?: { type: string; name?: string; schema?: object; strict?: boolean }; verbosity?: string }
  tools?: {
    type: string
    name: string
    description: string
    parameters: Record<string, unknown>
    strict?: boolean
  }[]
}

const ENCRYPTED = 'encrypted:'

const KNOWN = new Set([
  ...['model', 'input', 'stream', 'store', 'include', 'max_output_tokens', 'reasoning', 'text', 'tools'],
  ...['prompt_cache_key', 'prompt_cache_options', 'service_tier', 'metadata', 'truncation', 'parallel_tool_calls'],
])

/** Converts a request to chat completions, so that one script reads both. */
export function responsesAsChat({ model, input, stream, tools, max_output_tokens }: ResponsesRequestBody) {
  const messages: ModelRequestBody['messages'] = []
  for (const { type, role, content, call_id, name, arguments: args, output } of input) {
    if (type === 'function_call_output') {
      messages.push({ role: 'tool', content: String(output), tool_call_id: String(call_id) })
    } else if (type === 'function_call') {
      const call = { id: call_id, type: 'function', function: { name, arguments: args } }
      const last = messages.at(-1)
      if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call]
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    } else if (type === 'message') {
      const parts = typeof content === 'string' ? [{ text: content }] : (content as Item[])
      const images = parts.flatMap(({ image_url }) => (image_url ? [String(image_url)] : []))
      const text = parts.flatMap(({ text }) => (text === undefined ? [] : [String(text)])).join('\n')
      messages.push({ role: String(role), content: text, ...(images.length > 0 ? { images } : {}) })
    }
  }
  return {
    model,
    messages,
    ...(stream === undefined ? {} : { stream }),
    ...(max_output_tokens === undefined ? {} : { max_completion_tokens: max_output_tokens }),
    ...(tools ? { tools: tools.map(({ type: _, strict: __, ...fn }) => ({ type: 'function', function: fn })) } : {}),
  } as ModelRequestBody
}

/**
 * Returns how OpenAI would refuse a request of the Responses API; undefined when it would answer. Sources: the API's
 * reference and reports that quote its answers, as read on 2026-11-30 (codex#8145, bifrost#5410, coder/mux#59,
 * OpenHands/software-agent-sdk#1208).
 */
export function responsesRefusal(body: ResponsesRequestBody, window = Number.POSITIVE_INFINITY): Refusal | undefined {
  const fault = parameterFault(body) ?? itemsFault(body) ?? reasoningFault(body.input)
  if (fault) return refuse(400, fault)
  const tokens = tokensIn(responsesAsChat(body)) + (body.max_output_tokens ?? 0)
  const problem = 'Your input exceeds the context window of this model. Please adjust your input and try again.'
  return tokens > window ? refuse(400, problem, { code: 'context_length_exceeded' }) : undefined
}

function parameterFault(body: ResponsesRequestBody): string | undefined {
  const unknown = Object.keys(body).find(key => !KNOWN.has(key))
  if (unknown === 'temperature' || unknown === 'top_p')
    return `Unsupported parameter: '${unknown}' is not supported with this model.`
  if (unknown) return `Unknown parameter: '${unknown}'.`
  const { max_output_tokens = 16, tools = [], text } = body
  if (max_output_tokens < 16)
    return `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${max_output_tokens} instead.`
  const lax = tools.find(({ strict, parameters }) => strict !== false && parameters.additionalProperties !== false)
  if (lax)
    return `Invalid schema for function '${lax.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`
  const bad = tools.find(({ name }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
  if (bad) return "Invalid 'tools[0].name': string does not match pattern."
  return text?.format && !text.format.name ? "Missing required parameter: 'text.format.name'." : undefined
}

function itemsFault({ input, store }: ResponsesRequestBody): string | undefined {
  const stored = input.find(({ id }) => id !== undefined)
  if (stored && store === false)
    return `Item with id '${stored.id}' not found. Items are not persisted when \`store\` is set to false.`
  for (const [n, { type, role, content }] of input.entries()) {
    const kinds = ['message', 'function_call', 'function_call_output', 'reasoning']
    if (!kinds.includes(String(type))) return `Invalid value: '${type}'. Supported values are: ${kinds.join(', ')}.`
    if (type !== 'message') continue
    if (!content || (content as unknown[]).length === 0) return `Invalid 'input[${n}].content': empty array.`
    if (typeof content === 'string') continue
    const wrong = (content as Item[]).find(part => part.type !== 'input_text' && part.type !== 'input_image')
    if (wrong && role !== 'assistant') return `Invalid value: '${wrong.type}' at input[${n}].content.`
    if ((content as Item[]).some(({ type, text }) => type === 'input_text' && !String(text).trim()))
      return `Invalid 'input[${n}].content[0].text': empty string.`
  }
  return callsFault(input)
}

function callsFault(input: readonly Item[]): string | undefined {
  const idsOf = (wanted: string) => input.flatMap(({ type, call_id }) => (type === wanted ? [call_id] : []))
  const [asked, answered] = [idsOf('function_call'), idsOf('function_call_output')]
  const open = asked.find(id => !answered.includes(id))
  if (open) return `No tool output found for function call ${open}.`
  const orphan = answered.find(id => !asked.includes(id))
  return orphan ? `No tool call found for function call output with call_id ${orphan}.` : undefined
}

function reasoningFault(input: readonly Item[]): string | undefined {
  for (const [n, { type, encrypted_content, summary }] of input.entries()) {
    if (type !== 'reasoning') continue
    if (!Array.isArray(summary)) return `Missing required parameter: 'input[${n}].summary'.`
    if (!String(encrypted_content).startsWith(ENCRYPTED))
      return `The encrypted content ${encrypted_content} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
    const next = input[n + 1]
    const follows = next?.type === 'function_call' || (next?.type === 'message' && next.role === 'assistant')
    if (!follows) return "Item of type 'reasoning' was provided without its required following item."
  }
  return undefined
}

/** Returns the items of an answer: reasoning, text and calls. */
function itemsOf({ reasoning, text, tool_calls, fields }: Answer, { include = [] }: ResponsesRequestBody, n: number) {
  const encrypted = include.includes('reasoning.encrypted_content')
    ? { encrypted_content: `${ENCRYPTED}${reasoning}` }
    : {}
  const summary = reasoning ? [{ type: 'summary_text', text: reasoning }] : []
  const content = [{ type: 'output_text', text, annotations: [] }]
  return [
    ...(reasoning ? [{ id: `rs_${n}`, type: 'reasoning', summary, ...encrypted }] : []),
    ...(text ? [{ id: `msg_${n}`, type: 'message', status: 'completed', role: 'assistant', content, ...fields }] : []),
    ...tool_calls.map(({ id, name, arguments: args }, at) => {
      const call_id = id ?? `call_${n}_${at}`
      return { id: `fc_${n}_${at}`, type: 'function_call', status: 'completed', call_id, name, arguments: args }
    }),
  ] as Item[]
}

/** Returns a complete answer. */
export function responseOf(answer: Answer, body: ResponsesRequestBody, n: number, usage: object | undefined) {
  const { finish_reason } = answer
  const reasons: Record<string, string> = { length: 'max_output_tokens', content_filter: 'content_filter' }
  const reason = reasons[finish_reason ?? '']
  return {
    id: `resp_${n}`,
    object: 'response',
    model: body.model,
    status: reason ? 'incomplete' : 'completed',
    incomplete_details: reason ? { reason } : null,
    error: null,
    output: itemsOf(answer, body, n),
    ...(usage ? { usage } : {}),
  }
}

/** Returns the events of a streamed answer. */
export function responseEvents(response: ReturnType<typeof responseOf>, pieces: (text: string) => string[]): object[] {
  const { output, status } = response
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap((item, output_index) => itemEvents(item, output_index, pieces)),
    { type: status === 'completed' ? 'response.completed' : 'response.incomplete', response },
  ].map((event, sequence_number) => ({ ...event, sequence_number }))
}

function itemEvents(item: Item, output_index: number, pieces: (text: string) => string[]): object[] {
  const at = { item_id: item.id, output_index }
  const deltas = (type: string, text: unknown, more: object) =>
    pieces(String(text)).map(delta => ({ type, ...at, ...more, delta }))
  const added = { type: 'response.output_item.added', output_index }
  const done = { type: 'response.output_item.done', output_index, item }
  if (item.type === 'reasoning') {
    const parts = (item.summary as Item[]).flatMap((part, summary_index) => [
      { type: 'response.reasoning_summary_part.added', ...at, summary_index, part: { ...part, text: '' } },
      ...deltas('response.reasoning_summary_text.delta', part.text, { summary_index }),
      { type: 'response.reasoning_summary_part.done', ...at, summary_index, part },
    ])
    return [{ ...added, item: { ...item, summary: [], encrypted_content: '' } }, ...parts, done]
  }
  if (item.type === 'function_call') {
    const calls = deltas('response.function_call_arguments.delta', item.arguments, {})
    return [{ ...added, item: { ...item, arguments: '' } }, ...calls, done]
  }
  const [part] = item.content as Item[]
  return [
    { ...added, item: { ...item, content: [] } },
    { type: 'response.content_part.added', ...at, content_index: 0, part: { ...part, text: '' } },
    ...deltas('response.output_text.delta', part!.text, { content_index: 0 }),
    { type: 'response.output_text.done', ...at, content_index: 0, text: part!.text },
    done,
  ]
}
