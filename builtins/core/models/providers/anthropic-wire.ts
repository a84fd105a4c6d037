import type {
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import { z } from '#kernel'
import { isTree } from '#lib/tree'
import { turnStart } from '../context/conversation.ts'
import type { ModelEvent, ModelRequest, SentImage, SentMessage, Usage } from '../contract.ts'
import { anthropicParameters } from '../parameters/anthropic.ts'
import { CACHED, CACHED_TURNS, isContinued } from './prompt-cache.ts'

/**
 * Returns a request of Anthropic's Messages API: the first system message is separate, turns alternate, and a tool's
 * result is the first part of a user's turn. A temperature is an error since version 2026-10-21 of the API. Source:
 * https://platform.claude.com/docs/en/api/messages, https://platform.claude.com/docs/en/api/migration-2026-10-21,
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export function anthropicRequest(request: ModelRequest): MessageCreateParamsNonStreaming {
  const { model, messages, tools, purpose } = request
  const first = messages.findIndex(({ role }) => role !== 'system')
  const head = messages.slice(0, first < 0 ? messages.length : first)
  const system = head.map(({ content }) => content).join('\n\n')
  const parameters = anthropicParameters(request, hasAllThinking(messages))
  const thinks = parameters.thinking?.type !== 'disabled'
  return {
    ...parameters,
    model,
    ...(system.trim() ? { system: [{ type: 'text', text: system, ...CACHED }] } : {}),
    messages: turnsOf(messages.slice(head.length), thinks, isContinued(purpose) ? CACHED_TURNS : 0),
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, parameters }) => {
            return { name, description, input_schema: { ...parameters, type: 'object' as const } }
          }),
        }
      : {}),
  }
}

interface Turn {
  role: 'user' | 'assistant'
  content: ContentBlockParam[]
}

/** Returns whether each call of the current turn has its thinking; without, the API refuses to continue thinking. */
function hasAllThinking(messages: readonly SentMessage[]): boolean {
  return messages
    .slice(turnStart(messages))
    .every(({ tool_calls = [], provider_data }) => tool_calls.length === 0 || thinkingIn(provider_data).length > 0)
}

/** @param cached number of user turns, from the end, up to which the conversation is cached */
function turnsOf(messages: readonly SentMessage[], thinks: boolean, cached: number): MessageParam[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = thinks ? withThinking(blocksOf(message), message) : blocksOf(message)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  for (const { content } of turns)
    content.sort((a, b) => Number(b.type === 'tool_result') - Number(a.type === 'tool_result'))
  const users = turns.filter(({ role }) => role === 'user').toReversed()
  for (const { content } of users.slice(0, cached)) content.push({ ...content.pop()!, ...CACHED } as ContentBlockParam)
  return turns
}

/** Converts a message to content blocks. Omits blank text, which the API refuses. */
function blocksOf(message: SentMessage): ContentBlockParam[] {
  const { role, content, tool_calls = [], tool_call_id, is_error, images = [] } = message
  const texts = content.trim() ? [{ type: 'text' as const, text: content }] : []
  const shown = images.map(imageBlock)
  if (role === 'tool') {
    const result: ToolResultBlockParam = { type: 'tool_result', tool_use_id: idOf(tool_call_id ?? '') }
    const given = shown.length > 0 ? { content: [...texts, ...shown] } : content.trim() ? { content } : {}
    return [{ ...result, ...given, ...(is_error ? { is_error } : {}) }]
  }
  const calls = tool_calls.map(({ id, name, arguments: args }) => ({
    type: 'tool_use' as const,
    id: idOf(id),
    name,
    input: isTree(args) ? args : { unparsed: args },
  }))
  return [...shown, ...texts, ...calls]
}

function imageBlock({ media_type, data = '' }: SentImage): ImageBlockParam {
  return { type: 'image', source: { type: 'base64', media_type, data } }
}

/** Thinking blocks as received, each with the number of other blocks before it. */
const KeptThinking = z.array(z.object({ after: z.int(), block: z.looseObject({ type: z.string() }) }))
type KeptThinking = z.infer<typeof KeptThinking>

function thinkingIn(provider_data: SentMessage['provider_data']): KeptThinking {
  return KeptThinking.safeParse(provider_data?.fields.thinking).data ?? []
}

/** Restores the thinking blocks of an answer at their positions. */
function withThinking(blocks: readonly ContentBlockParam[], { provider_data }: SentMessage): ContentBlockParam[] {
  const kept = thinkingIn(provider_data)
  const at = (n: number) =>
    kept
      .filter(({ after }) => after === n || (n === blocks.length && after > n))
      .map(({ block }) => block as unknown as ContentBlockParam)
  return [...blocks.flatMap((block, n) => [...at(n), block]), ...at(blocks.length)]
}

/** Replaces characters that Anthropic refuses in ids from other providers. */
function idOf(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_') || '_'
}

const Count = z.number().nullish()
const WireUsage = z.object({
  input_tokens: Count,
  output_tokens: Count,
  cache_read_input_tokens: Count,
  cache_creation_input_tokens: Count,
})

// Thinking is returned with all of its fields.
const Block = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  id: z.string().nullish(),
  name: z.string().nullish(),
  input: z.unknown().optional(),
})

/** The used fields of a complete answer. */
const Answer = z.object({ content: z.array(Block), stop_reason: z.string().nullish(), usage: z.unknown().optional() })

const Piece = z.object({
  type: z.string(),
  index: z.int().nullish(),
  message: z.object({ usage: z.unknown().optional() }).nullish(),
  content_block: Block.nullish(),
  delta: z
    .object({
      type: z.string().nullish(),
      text: z.string().nullish(),
      thinking: z.string().nullish(),
      signature: z.string().nullish(),
      partial_json: z.string().nullish(),
      stop_reason: z.string().nullish(),
    })
    .nullish(),
  usage: z.unknown().optional(),
})

interface ToolUse {
  id: string
  name: string
  /** Initial input; replaced by its pieces, if there are any. */
  input: unknown
  json: string
}

/** Converts events of a stream to ours. Ends without `done` if the server gave no reason for its end. */
export class AnthropicStream {
  readonly #uses = new Map<number, ToolUse>()
  readonly #blocks = new Map<number, z.infer<typeof Block>>()
  #usage: z.infer<typeof WireUsage> = {}

  take(raw: unknown): ModelEvent[] {
    const { type, index, message, content_block: block, delta, usage } = Piece.parse(raw)
    this.#count(type === 'message_start' ? message?.usage : usage)
    if (type === 'content_block_start' && block) this.#blocks.set(index ?? this.#blocks.size, block)
    const begun = this.#blocks.get(index ?? this.#blocks.size - 1)
    if (begun && delta?.thinking) begun.thinking = (begun.thinking ?? '') + delta.thinking
    if (begun && delta?.signature) begun.signature = delta.signature
    if (type === 'content_block_start' && block?.type === 'tool_use') {
      this.#uses.set(index ?? this.#uses.size, useOf(block))
    } else if (delta?.type === 'input_json_delta') {
      const use = this.#uses.get(index ?? this.#uses.size - 1)
      if (use) use.json += delta.partial_json ?? ''
    } else if (type === 'message_delta' && delta?.stop_reason) {
      return [
        ...[...this.#uses.values()].map(toolCallEvent),
        ...thinkingEvents([...this.#blocks.values()]),
        ...usageEvents(this.#usage),
        doneEvent(delta.stop_reason),
      ]
    }
    if (delta?.thinking) return [{ type: 'reasoning', text: delta.thinking }]
    // An empty text shows activity: a model that thinks or writes a long tool call is not idle.
    const text = delta?.text ?? (type === 'content_block_start' ? block?.text : '') ?? ''
    return [{ type: 'text', text, chars: text.length + (delta?.partial_json?.length ?? 0) }]
  }

  /** Counts are totals; later ones replace earlier ones. */
  #count(raw: unknown): void {
    const counts = Object.entries(WireUsage.safeParse(raw).data ?? {})
    this.#usage = { ...this.#usage, ...Object.fromEntries(counts.filter(([, count]) => typeof count === 'number')) }
  }
}

/** Converts a complete answer to events. */
export function eventsOfAnswer(raw: unknown): ModelEvent[] {
  const { content, stop_reason, usage } = Answer.parse(raw)
  const thought = content.map(({ thinking }) => thinking ?? '').join('')
  return [
    ...(thought ? [{ type: 'reasoning' as const, text: thought }] : []),
    { type: 'text', text: content.map(({ text }) => text ?? '').join('') },
    ...content.filter(({ type }) => type === 'tool_use').map(block => toolCallEvent(useOf(block))),
    ...thinkingEvents(content),
    ...usageEvents(WireUsage.safeParse(usage).data ?? {}),
    doneEvent(stop_reason ?? 'end_turn'),
  ]
}

/** Returns the thinking of an answer with its signatures, which the API requires unchanged while its calls are answered. */
function thinkingEvents(blocks: readonly z.infer<typeof Block>[]): ModelEvent[] {
  const isThinking = ({ type }: { type: string }) => type === 'thinking' || type === 'redacted_thinking'
  const thinking: KeptThinking = []
  let after = 0
  let hasText = false
  for (const block of blocks) {
    if (isThinking(block)) thinking.push({ after, block })
    // All text blocks become one.
    else if (block.type !== 'text' || !hasText) after++
    hasText ||= block.type === 'text'
  }
  return thinking.length > 0 ? [{ type: 'provider_data', fields: { thinking } }] : []
}

function useOf({ id, name, input }: z.infer<typeof Block>): ToolUse {
  return { id: id ?? '', name: name ?? '', input, json: '' }
}

function toolCallEvent({ id, name, input, json }: ToolUse): ModelEvent {
  return { type: 'tool_call', id, name, arguments: json || JSON.stringify(input ?? {}) }
}

/** Anthropic counts tokens read from and written to its cache separately; here they are part of the input. */
function usageEvents(wire: z.infer<typeof WireUsage>): ModelEvent[] {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = wire
  if (typeof input_tokens !== 'number' || typeof output_tokens !== 'number') return []
  const [cached_tokens, cache_write_tokens] = [cache_read_input_tokens ?? 0, cache_creation_input_tokens ?? 0]
  const usage: Usage = { input_tokens: input_tokens + cached_tokens + cache_write_tokens, output_tokens }
  return [
    {
      type: 'usage',
      usage: {
        ...usage,
        ...(cached_tokens ? { cached_tokens } : {}),
        ...(cache_write_tokens ? { cache_write_tokens } : {}),
      },
    },
  ]
}

/** Converts the reason why an answer ended: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
function doneEvent(stop_reason: string): ModelEvent {
  switch (stop_reason) {
    case 'tool_use':
      return { type: 'done', finish_reason: 'tool_calls' }
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return { type: 'done', finish_reason: 'length' }
    case 'refusal':
      return { type: 'done', finish_reason: 'content_filter' }
    default:
      return { type: 'done', finish_reason: 'stop' }
  }
}
