import { textTokens } from '#lib/text-tokens'
import { isTree } from '#lib/tree'
import type { SentMessage as Message } from '../contract.ts'
import { withoutImages } from './vision.ts'

/** Maximum length of results and arguments that are not shortened, in characters. */
const SHORT = 200
/** Number of characters kept of a longer argument, so that it can be recognised. */
const HINT = 60
/** Share of a shortened text that is its beginning; the rest is its end. */
const HEAD_SHARE = 0.6

/** Cuts the middle out of a text so that at most about `tokens` are left, says how much is missing, and how to get it. */
export function shorten(text: string, tokens: number, way = ''): string {
  const chars = Math.max(0, Math.floor((tokens / Math.max(textTokens(text), 1)) * text.length) - 100)
  const head = Math.floor(chars * HEAD_SHARE)
  const tail = chars - head
  const missing = text.length - chars
  const end = tail > 0 ? text.slice(-tail) : ''
  return `${text.slice(0, head)}\n[… ${missing} of ${text.length} characters left out to fit the model's context${way} …]\n${end}`
}

/** The text, shortened if it takes more than `tokens`. */
export function shortenTo(text: string, tokens: number): string {
  return textTokens(text) > tokens ? shorten(text, tokens) : text
}

/**
 * Replaces a tool result by one line that says what it was; undefined when that would save nothing.
 */
export function clearedResult(message: Message, messages: readonly Message[]): Message | undefined {
  if (message.role !== 'tool' || message.content.length <= SHORT) return undefined
  const what = sourceOf(message, messages)
  const size = `${message.content.length} characters, removed to save space.`
  const content = message.is_error
    ? `[Old result of ${what}, which failed: ${size} It began: ${message.content.slice(0, HINT * 2).replace(/\s+/g, ' ')}…]`
    : `[Old result of ${what}: ${size} What the call did stands; call it again only to read something.]`
  return { ...message, content }
}

/**
 * Replaces the images of a tool result by one line each that says how to get them again; undefined when it has none.
 */
export function clearedImages(message: Message, messages: readonly Message[]): Message | undefined {
  if (message.role !== 'tool' || !message.images?.length) return undefined
  return withoutImages(message, `removed to save space. Call ${sourceOf(message, messages)} again to see it`)
}

/** Replaces the images of a user message by their names; undefined when it has none. */
export function clearedPictures(message: Message): Message | undefined {
  if (message.role !== 'user' || !message.images?.length) return undefined
  return withoutImages(message, 'removed to save space')
}

function sourceOf(message: Message, messages: readonly Message[]): string {
  const call = callOf(message, messages)
  return call ? `${call.name} ${briefly(call.arguments)}` : (message.name ?? 'a tool')
}

function callOf(result: Message, messages: readonly Message[]) {
  const { tool_call_id } = result
  for (let at = messages.indexOf(result); at >= 0; at--) {
    const call = messages[at]!.tool_calls?.find(({ id }) => id === tool_call_id)
    if (call) return call
  }
  return undefined
}

/** Shortens the long arguments of an answer's calls to their beginnings; undefined when none is long. */
export function clearedCalls(message: Message): Message | undefined {
  const { tool_calls } = message
  if (!tool_calls || JSON.stringify(tool_calls).length <= SHORT) return undefined
  const calls = tool_calls.map(call => ({ ...call, arguments: withHints(call.arguments) }))
  if (JSON.stringify(calls) === JSON.stringify(tool_calls)) return undefined
  return { ...message, tool_calls: calls }
}

function withHints(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length <= SHORT ? value : `${value.slice(0, HINT)}[… ${value.length} characters in all]`
  }
  if (Array.isArray(value)) return value.map(withHints)
  if (!isTree(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withHints(each)]))
}

/** Arguments in at most `SHORT` characters. */
export function briefly(args: unknown): string {
  const text = JSON.stringify(withHints(args)) ?? ''
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text
}
