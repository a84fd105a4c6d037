import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { z } from '#kernel'
import { isTree, type Tree } from '#lib/tree'
import type { ModelEvent, ModelRequest, SentImage, SentMessage } from '../contract.ts'
import type { Dialect } from '../parameters/dialects.ts'
import { wireParameters } from '../parameters/openai.ts'
import { continues, textOfArguments } from '../repair/arguments.ts'
import { parseReturned } from './openai-returned.ts'
import type { CacheHints } from './prompt-cache.ts'

type Base = Omit<ChatCompletionCreateParams, 'stream' | 'stream_options'>

/** Converts a request to OpenAI's chat completions format. */
export function wireRequest(
  request: ModelRequest,
  dialect: Dialect = 'openai',
  hints: CacheHints = { fields: {} },
): Base {
  const { model, messages, tools, response_schema } = request
  const sent = messages.map(message => wireMessage(message, request, dialect))
  return {
    ...accepted(hints.fields, request),
    ...wireParameters(request, dialect),
    model,
    messages: hints.mark ? marked(sent, accepted(hints.mark, request), hints.marked_turns) : sent,
    ...(tools.length > 0 ? { tools: tools.map(tool => ({ type: 'function' as const, function: tool })) } : {}),
    ...(response_schema ? { response_format: responseFormat(response_schema) } : {}),
  }
}

/**
 * Returns a schema for answers in the format of OpenAI's chat completions
 * (https://developers.openai.com/api/docs/guides/structured-outputs).
 */
function responseFormat({ name, schema }: NonNullable<ModelRequest['response_schema']>) {
  return { type: 'json_schema' as const, json_schema: { name, schema, ...(isStrict(schema) ? { strict: true } : {}) } }
}

/**
 * Returns whether OpenAI's `strict` may be set, by which the server enforces the schema: each object must list all of
 * its properties as required and allow no others.
 */
export function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (typeof schema !== 'object' || schema === null) return true
  const { type, properties, required, additionalProperties, ...rest } = schema as Tree
  if (type === 'object' || properties !== undefined) {
    const names = Object.keys((properties ?? {}) as Tree)
    const requiredNames = Array.isArray(required) ? new Set(required) : new Set()
    if (additionalProperties !== false || names.some(name => !requiredNames.has(name))) return false
  }
  // The values of these four keywords are data, not schemas.
  const { default: _, examples: __, enum: ___, const: ____, ...keywords } = rest
  return [...Object.values((properties ?? {}) as Tree), ...Object.values(keywords)].every(isStrict)
}

/** Returns the fields that the model did not refuse before. */
export function accepted(fields: Record<string, unknown>, { omit }: ModelRequest): Record<string, unknown> {
  return omit ? Object.fromEntries(Object.entries(fields).filter(([key]) => !omit.has(key))) : fields
}

/** Adds a mark to the end of the system prompt, and of the last turns before the model's. */
function marked(
  messages: readonly ChatCompletionMessageParam[],
  mark: Record<string, unknown>,
  turns = 0,
): ChatCompletionMessageParam[] {
  const isRead = (n: number) => ['user', 'tool'].includes(messages[n]?.role ?? '')
  const ends = messages.flatMap((_, n) => (isRead(n) && !isRead(n + 1) ? n : []))
  const at = [messages.findIndex(({ role }) => role !== 'system') - 1, ...ends.toReversed().slice(0, turns)]
  return messages.map((message, n) => {
    const { content } = message
    if (!at.includes(n) || !content) return message
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    // OpenRouter takes marks of texts only.
    const last = parts.findLastIndex(({ type }) => type === 'text')
    const sent = parts.map((part, n) => (n === last ? { ...part, ...mark } : part))
    return { ...message, content: sent } as ChatCompletionMessageParam
  })
}

function wireMessage(message: SentMessage, request: ModelRequest, dialect: Dialect): ChatCompletionMessageParam {
  const { role, content: text, tool_calls = [], tool_call_id, images = [] } = message
  const content = wellFormed(text)
  if (role === 'user' && images.length > 0) return { role, content: [...textPart(content), ...images.map(imagePart)] }
  if (role === 'tool') return { role, content, tool_call_id: tool_call_id ?? '' }
  if (role !== 'assistant') return { role, content }
  const { fields, content: whole, extras } = parseReturned(message, request, dialect)
  const calls = tool_calls.map(({ id, name, arguments: args }, n) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: wireArguments(args) },
    ...(extras[n] ? { extra_content: extras[n] } : {}),
  }))
  if (calls.length === 0) return { role, content: whole ?? content, ...fields } as ChatCompletionMessageParam
  return { role, content: whole ?? (content || null), tool_calls: calls, ...fields } as ChatCompletionMessageParam
}

function textPart(text: string): ChatCompletionContentPart[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** Converts an image. Gemini, Mistral, Ollama, vLLM and llama.cpp accept OpenAI's format. */
function imagePart({ media_type, data = '' }: SentImage): ChatCompletionContentPart {
  return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}` } }
}

/**
 * Returns arguments as a JSON object. Some servers parse the arguments of earlier turns and refuse the request if they
 * are not one.
 */
export function wireArguments(args: unknown): string {
  const object = isTree(args) ? args : { unparsed: args }
  return JSON.stringify(object, (_, value: unknown) => (typeof value === 'string' ? wellFormed(value) : value))
}

/**
 * Replaces lone surrogates, which occur in truncated text. Some servers (llama.cpp) refuse the whole request for one.
 */
export function wellFormed(text: string): string {
  return text.toWellFormed()
}

// Some servers send the arguments as JSON rather than as a JSON string.
const Called = z.object({ name: z.string().nullish(), arguments: z.unknown().optional() })

const ToolCallPiece = z.object({
  index: z.int().nullish(),
  id: z.union([z.string(), z.number().transform(String)]).nullish(),
  function: Called.nullish(),
  // Sent by Gemini, with the signature of the thinking that led to the call.
  extra_content: z.unknown().optional(),
})
type ToolCallPiece = z.infer<typeof ToolCallPiece>

const ContentPart = z.object({ type: z.string(), text: z.string().nullish(), thinking: z.unknown().optional() })

/** Joins the text of all parts of one type. Mistral nests the text of its thinking one level deeper. */
function joinParts(parts: readonly z.infer<typeof ContentPart>[], wanted: 'text' | 'thinking'): string {
  return parts
    .filter(({ type }) => type === wanted)
    .map(({ text, thinking }) => text ?? thinkingText(thinking))
    .join('')
}

function thinkingText(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return (
    z
      .array(z.object({ text: z.string() }))
      .safeParse(thinking)
      .data?.map(({ text }) => text)
      .join('') ?? ''
  )
}

/** A string, or parts; parts of the type `thinking` are the model's reasoning. */
const Content = z.union([
  z.string().transform(text => ({ text, thinking: '' })),
  z.array(ContentPart).transform(parts => ({ text: joinParts(parts, 'text'), thinking: joinParts(parts, 'thinking') })),
])

const Said = z.object({
  content: Content.nullish(),
  refusal: z.string().nullish(),
  // DeepSeek, vLLM and llama.cpp send `reasoning_content`; OpenRouter and Groq send `reasoning`.
  reasoning_content: z.string().nullish().catch(undefined),
  reasoning: z.string().nullish().catch(undefined),
  reasoning_details: z.array(z.unknown()).nullish().catch(undefined),
  tool_calls: z.array(ToolCallPiece).nullish(),
  function_call: Called.nullish(),
})

/**
 * The used fields of a streamed chunk. `usage` is parsed separately, so that an invalid count does not spoil an answer.
 */
export const Chunk = z.object({
  choices: z.array(z.object({ delta: Said.nullish(), finish_reason: z.string().nullish() })).nullish(),
  usage: z.unknown().optional(),
})

export const Completion = z.object({
  choices: z.array(z.object({ message: Said, finish_reason: z.string().nullish() })).min(1),
  usage: z.unknown().optional(),
})

/** Returns the tool calls of a message, or pieces of them. Older servers send a single one. */
export function callsIn(message: z.infer<typeof Said> | null | undefined): readonly ToolCallPiece[] {
  const one = message?.function_call
  return message?.tool_calls ?? (one ? [{ index: 0, function: one }] : [])
}

/** Returns the reasoning in a message or a piece of one, if the server separates it from the answer. */
export function reasoningEvents(message: z.infer<typeof Said> | null | undefined): ModelEvent[] {
  const text = message?.reasoning_content ?? message?.reasoning ?? message?.content?.thinking
  return text ? [{ type: 'reasoning', text }] : []
}

/** Returns the number of characters in pieces of tool calls. */
export function charsOfCalls(pieces: readonly ToolCallPiece[]): number {
  return pieces.reduce(
    (sum, { function: fn }) => sum + (fn?.name?.length ?? 0) + textOfArguments(fn?.arguments).length,
    0,
  )
}

const WireUsage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  // `cache_write_tokens` is OpenRouter's: https://openrouter.ai/docs/use-cases/usage-accounting
  prompt_tokens_details: z
    .object({ cached_tokens: z.number().nullish(), cache_write_tokens: z.number().nullish() })
    .nullish()
    .catch(undefined),
})

/** Returns the usage of a chunk or completion; empty if it is missing or malformed. */
export function usageEvents(raw: unknown): ModelEvent[] {
  const usage = WireUsage.safeParse(raw).data
  if (!usage) return []
  const { cached_tokens, cache_write_tokens } = usage.prompt_tokens_details ?? {}
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usage
  const parts = { ...(cached_tokens ? { cached_tokens } : {}), ...(cache_write_tokens ? { cache_write_tokens } : {}) }
  return [{ type: 'usage', usage: { input_tokens, output_tokens, ...parts } }]
}

/**
 * Returns the event that ends an answer, with our name of the reason. Servers have more names for `stop` than the
 * protocol.
 */
export function doneEvent(finish_reason: string | null | undefined, refused: boolean): ModelEvent {
  if (refused || finish_reason === 'content_filter') return { type: 'done', finish_reason: 'content_filter' }
  if (finish_reason === 'length') return { type: 'done', finish_reason }
  const called = finish_reason === 'tool_calls' || finish_reason === 'function_call'
  return { type: 'done', finish_reason: called ? 'tool_calls' : 'stop' }
}

interface ToolCallSoFar {
  id: string
  name: string
  arguments: string
  extra_content?: unknown
}

/**
 * Assembles streamed tool calls. Pieces belong together by `index`. If a server omits the index, or gives each whole
 * call the index 0, a new id with a name begins a call; without ids, another name does, or arguments that follow
 * complete ones.
 */
export class ToolCallAssembly {
  readonly #calls: ToolCallSoFar[] = []
  /** The call begun last at each index. */
  readonly #placed = new Map<number, ToolCallSoFar>()

  add(pieces: readonly ToolCallPiece[]): void {
    for (const piece of pieces) {
      const { name, arguments: args } = piece.function ?? {}
      const call = this.#find(piece) ?? this.#begin(piece)
      if (piece.id) call.id = piece.id
      if (name && !call.name.endsWith(name)) call.name += name
      call.arguments += textOfArguments(args)
      call.extra_content ??= piece.extra_content
    }
  }

  events(): ModelEvent[] {
    return this.#calls.map(({ id, name, arguments: args }) => ({ type: 'tool_call', id, name, arguments: args }))
  }

  /** Returns the extra content of each call, in call order. */
  extras(): unknown[] {
    return this.#calls.map(({ extra_content }) => extra_content)
  }

  #find({ index, id, function: fn }: ToolCallPiece): ToolCallSoFar | undefined {
    const isPlaced = index !== null && index !== undefined
    const last = isPlaced ? this.#placed.get(index) : this.#calls.at(-1)
    if (!fn?.name || !last?.name) return last
    if (id && last.id !== id) return undefined
    if (id && isPlaced) return last
    const hasNewName = fn.name !== last.name && (!isPlaced || last.arguments !== '')
    // Without an index, a repeated name after complete arguments begins a call, whose arguments may come later.
    const follows = continues(last.arguments, isPlaced ? textOfArguments(fn.arguments) : '{')
    return hasNewName || !follows ? undefined : last
  }

  #begin({ index }: ToolCallPiece): ToolCallSoFar {
    const call = { id: '', name: '', arguments: '' }
    this.#calls.push(call)
    if (index !== null && index !== undefined) this.#placed.set(index, call)
    return call
  }
}
