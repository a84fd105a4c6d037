import { textTokens } from '#lib/text-tokens'
import { isTree } from '#lib/tree'
import type { SentMessage as Message } from '../contract.ts'
import { withoutImages } from './vision.ts'

/** Maximum length of results and arguments that are not shortened, in characters. */
const SHORT = 200
/** Number of characters kept of a longer argument, so that it can be recognised. */
const HINT = 60
/** Matches the file that holds the whole of a tool's output, which the end of its result names. */
const STORED_OUTPUT = / in (\S{1,300}?)(?:; read it)? with file_read\.\]/
/** Number of characters at the end of a result that may name that file. */
const END = 500
/** Number of characters kept of the end of a program's output. */
const ENDING = 160
/** Share of a shortened text that is its beginning; the rest is its end. */
const HEAD_SHARE = 0.6

/** Cuts the middle out of a text so that at most about `tokens` are left, says how much is missing, and how to get it. */
export function shorten(text: string, tokens: number, way = ''): string {
  const chars = Math.floor((tokens / Math.max(textTokens(text), 1)) * text.length) - 100 - way.length
  const of = `of ${text.length} characters left out to fit the model's context${way}`
  return withoutMiddle(text, Math.max(0, chars), missing => `\n[… ${missing} ${of} …]\n`)
}

/** Cuts the middle out of a text so that `chars` characters are left, and puts a mark in its place. */
export function withoutMiddle(text: string, chars: number, mark: (missing: number) => string): string {
  const head = Math.floor(chars * HEAD_SHARE)
  const tail = chars - head
  return `${text.slice(0, head)}${mark(text.length - chars)}${tail > 0 ? text.slice(-tail) : ''}`
}

/** The text, shortened if it takes more than `tokens`. */
export function shortenTo(text: string, tokens: number): string {
  return textTokens(text) > tokens ? shorten(text, tokens) : text
}

/**
 * Replaces a tool result by one line that says what it was; undefined when that would save nothing, or when the result
 * has words of the operator or is needed for further work.
 */
export function clearedResult(message: Message, messages: readonly Message[]): Message | undefined {
  if (message.role !== 'tool' || message.content.length <= SHORT) return undefined
  if (message.from_operator || message.is_kept) return undefined
  const what = sourceOf(message, messages)
  const size = `${message.content.length} characters, removed to save space.`
  const ending = endingOf(message.content)
  const ended = ending ? ` It ended: …${ending} ` : ' '
  const content = message.is_error
    ? `[Old result of ${what}, which failed: ${size} It began: ${message.content.slice(0, HINT * 2).replace(/\s+/g, ' ')}…]`
    : `[Old result of ${what}: ${size}${ended}${rereadHint(message.content)}]`
  return content.length < message.content.length ? { ...message, content } : undefined
}

/** Returns the end of a program's output, which says how the program ended, on one line; empty for other results. */
export function endingOf(content: string): string {
  const lines = content
    .slice(-2 * END)
    .trimEnd()
    .split('\n')
  if (lines.at(-1)!.endsWith(' read it with file_read.]')) lines.pop()
  return /^\[.*\]$/.test(lines.at(-1) ?? '') ? lines.slice(-ENDING).join(' ').replace(/\s+/g, ' ').slice(-ENDING) : ''
}

function rereadHint(content: string): string {
  const [, file] = STORED_OUTPUT.exec(content.slice(-END)) ?? []
  return file
    ? `The whole output is in ${file}; read it with file_read.`
    : 'What the call did stands; call it again only to read something.'
}

/** Returns a tool result with its call, as a line that can be understood without the conversation. */
export function resultLine(message: Message, messages: readonly Message[]): string {
  return `${sourceOf(message, messages)} → ${message.content}`
}

/** Heading of the calls that `keptCalls` names. */
export const KEPT_TITLE = 'Results that were removed too; make these calls again when you need them'

/** Names the calls whose results are needed for further work, so that they can be made again. */
export function keptCalls(messages: readonly Message[]): string[] {
  return messages.filter(({ is_kept }) => is_kept).map(message => sourceOf(message, messages))
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

/** Matches JSON in which a text ends as `clearedCalls` shortens it: models imitate the calls that they see. */
export const IMITATED_HINT = /\[… \d+ characters in all\]"/

/** Arguments in at most `SHORT` characters. */
export function briefly(args: unknown): string {
  const text = JSON.stringify(withHints(args)) ?? ''
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text
}
