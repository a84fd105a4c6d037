import { hash } from 'node:crypto'
import { imagesOf } from '#core/images/contract'
import type { Target } from '../catalogue/names.ts'
import type { SentMessage as Message } from '../contract.ts'

/** User message added where a conversation would begin or end with the assistant. */
const GO_ON = 'Go on.'
const NO_RESULT = 'No result: this call did not run.'
const NO_OUTPUT = '(no output)'
/** Assistant message added between a tool result and a user message where a server refuses the direct succession. */
const ACKNOWLEDGED = 'Understood.'

/** Requirements of a server beyond the common form of a conversation. */
export interface ConversationRules {
  /** A user message must not directly follow a tool result (Mistral: error 3230). */
  separates_results?: boolean
  /** Ids of calls must be nine letters or digits (Mistral). */
  has_short_ids?: boolean
  /**
   * Reasoning is sent back for all turns: DeepSeek and Kimi require it; Claude, Gemini and OpenAI's models since GPT-5.6
   * read it, and keep what they cached.
   */
  keeps_all_reasoning?: boolean
  /** Tool results may contain images (Anthropic); otherwise they follow in a user message after all results. */
  shows_in_results?: boolean
}

/** Mistral's models need its rules on every server, because their chat templates enforce them. */
const MISTRAL = /mi(ni)?stral|mixtral|magistral|codestral|devstral|pixtral/i

const KEEPS_ALL_REASONING = /claude|deepseek|gemini|kimi|\bgpt-(?:5\.(?:[6-9]|\d\d)|[6-9])/i

/** Returns the requirements of a model's server for a conversation. */
export function rulesFor({ id }: Pick<Target, 'id'>): ConversationRules {
  return {
    ...(MISTRAL.test(id) ? { separates_results: true, has_short_ids: true } : {}),
    ...(id.startsWith('anthropic:') ? { shows_in_results: true } : {}),
    ...(KEEPS_ALL_REASONING.test(id) ? { keeps_all_reasoning: true } : {}),
  }
}

/** Messages without `provider_data`, by the stored message. */
const bare = new WeakMap<Message, Message>()

/** Messages whose `provider_data` a server refused. */
const refused = new WeakSet<Message>()

/** Leaves out the `provider_data` of these messages from now on. Returns whether they have any. */
export function dropProviderData(messages: readonly Message[]): boolean {
  const dropped = messages.filter(({ provider_data }) => provider_data)
  for (const message of dropped) refused.add(message)
  return dropped.length > 0
}

/**
 * Returns the conversation with `provider_data`, such as signed reasoning, only where it must be sent back: to the
 * model that gave it, in the current turn, unless its server refused it.
 */
export function returnable(
  messages: readonly Message[],
  { id }: Pick<Target, 'id'>,
  { keeps_all_reasoning = false }: ConversationRules = {},
): readonly Message[] {
  if (messages.every(({ provider_data }) => !provider_data)) return messages
  const from = keeps_all_reasoning ? 0 : turnStart(messages)
  return messages.map((message, n) => {
    const { provider_data, ...rest } = message
    if (!provider_data || (provider_data.model === id && n >= from && !refused.has(message))) return message
    const kept = bare.get(message) ?? rest
    bare.set(message, kept)
    return kept
  })
}

/**
 * Returns the index at which the current turn begins: after the last user message that does not follow tool results,
 * directly or after other user messages.
 */
export function turnStart(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }, n) => role === 'user' && speakerBefore(messages, n) !== 'tool') + 1
}

/** Returns the role of the last message before a place that is not the user's. */
function speakerBefore(messages: readonly Message[], place: number): Message['role'] | undefined {
  return messages.slice(0, place).findLast(({ role }) => role !== 'user')?.role
}

/**
 * Returns the conversation in the form that each known provider accepts: one system message first, then the user; each
 * call answered once, directly after it; no orphaned results; no message without content; alternating roles; the user
 * or a tool last. Stored messages are not changed.
 */
export function wellFormed(messages: readonly Message[], rules: ConversationRules = {}): Message[] {
  const head = messages.findIndex(({ role }) => role !== 'system')
  const leading = messages.slice(0, head < 0 ? messages.length : head)
  const turns = inTurns(answerCalls(messages.slice(leading.length), rules))
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: GO_ON })
  if (turns.at(-1)?.role === 'assistant') turns.push({ role: 'user', content: GO_ON })
  const system = joinTexts(...leading.map(({ content }) => content))
  const shaped = rules.separates_results ? separateTurns(turns) : turns
  return [
    ...(system ? [{ role: 'system' as const, content: system }] : []),
    ...shaped.map(message => withWireNames(message, rules.has_short_ids ? shortId : boundedId)),
  ]
}

/**
 * Puts one result after each call, and drops results without a call. Messages between them are moved after the results.
 */
function answerCalls(messages: readonly Message[], rules: ConversationRules): Message[] {
  const conversation: Message[] = []
  for (let at = 0; at < messages.length; ) {
    const message = messages[at++]!
    if (message.role === 'tool') continue
    const calls = message.tool_calls ?? []
    const ids = distinctIds(calls.map(({ id }) => id))
    if (message.role === 'system') conversation.push({ ...message, role: 'user' })
    else if (ids.every((id, n) => id === calls[n]!.id)) conversation.push(message)
    else conversation.push({ ...message, tool_calls: calls.map((call, n) => ({ ...call, id: ids[n]! })) })
    if (calls.length === 0) continue
    let next = at
    while (next < messages.length && messages[next]!.role !== 'assistant') next++
    const results = new Map(
      messages
        .slice(at, next)
        .filter(({ role }) => role === 'tool')
        .map(result => [result.tool_call_id, result]),
    )
    const given = calls.map(({ id, name }, n) => resultOf(ids[n]!, name, results.get(id)))
    conversation.push(...(rules.shows_in_results ? given : imagesLast(given)))
  }
  return conversation
}

/** Makes ids unique by appending a suffix to repeated ones. */
function distinctIds(ids: readonly string[]): string[] {
  const distinct: string[] = []
  for (let id of ids) {
    while (id === '' || distinct.includes(id)) id += '_'
    distinct.push(id)
  }
  return distinct
}

function resultOf(tool_call_id: string, name: string, result: Message | undefined): Message {
  if (!result) return { role: 'tool', tool_call_id, name, content: NO_RESULT, is_error: true }
  const content = result.content.trim() === '' ? NO_OUTPUT : result.content
  if (content === result.content && tool_call_id === result.tool_call_id) return result
  return { ...result, tool_call_id, content }
}

/** Moves images out of results into a user message after them, which names their results. */
function imagesLast(results: readonly Message[]): Message[] {
  const images = results.flatMap(result => result.images ?? [])
  if (images.length === 0) return [...results]
  const whose = results.flatMap(({ name = 'a tool', images = [] }) =>
    images.map(image => `- ${image.name ? `"${image.name}" ` : ''}of ${name}`),
  )
  const content = ['Images of the results above, in this order:', ...whose].join('\n')
  return [...results.map(({ images: _, ...result }) => result), { role: 'user', content, images }]
}

/**
 * Drops messages without content, and merges consecutive ones of the same role. A message with calls is not merged with
 * the next one.
 */
function inTurns(messages: readonly Message[]): Message[] {
  const turns: Message[] = []
  for (const message of messages) {
    const calls = message.tool_calls?.length ?? 0
    const isEmpty = message.content.trim() === '' && !message.images?.length
    if (message.role !== 'tool' && calls === 0 && isEmpty) continue
    const last = turns.at(-1)
    const joins = message.role !== 'tool' && last?.role === message.role && !last.tool_calls?.length
    if (joins) turns[turns.length - 1] = together(last, message)
    else turns.push(message)
  }
  return turns
}

/** Merges two messages of the same role. */
export function together(one: Message, other: Message): Message {
  const images = [...(one.images ?? []), ...(other.images ?? [])]
  return { ...other, content: joinTexts(one.content, other.content), ...imagesOf(images) }
}

function joinTexts(...texts: string[]): string {
  return texts.filter(text => text.trim() !== '').join('\n\n')
}

function separateTurns(turns: readonly Message[]): Message[] {
  return turns.flatMap((message, n) =>
    message.role === 'user' && turns[n - 1]?.role === 'tool'
      ? [{ role: 'assistant' as const, content: ACKNOWLEDGED }, message]
      : [message],
  )
}

/** Returns a message whose call ids and tool names the provider accepts. */
function withWireNames(message: Message, idOf: (id: string) => string): Message {
  const { tool_calls, tool_call_id } = message
  if (tool_call_id !== undefined) {
    const id = idOf(tool_call_id)
    return id === tool_call_id ? message : { ...message, tool_call_id: id }
  }
  if (!tool_calls || tool_calls.every(({ id, name }) => idOf(id) === id && TOOL_NAME.test(name))) return message
  return { ...message, tool_calls: tool_calls.map(call => ({ ...call, id: idOf(call.id), name: wireName(call.name) })) }
}

/** Names of tools that OpenAI accepts. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** Returns the name of a tool as it is sent: models invent names, such as `multi_tool_use.parallel`. */
function wireName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || '_'
}

/** Maximum length of an id that OpenAI accepts, in characters. */
const MAX_ID_CHARS = 40

function boundedId(id: string): string {
  return id.length <= MAX_ID_CHARS ? id : hash('sha256', id).slice(0, MAX_ID_CHARS)
}

function shortId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hash('sha256', id).slice(0, 9)
}
