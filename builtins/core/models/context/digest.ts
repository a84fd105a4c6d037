import { textTokens } from '#lib/text-tokens'
import type { SentMessage as Message } from '../contract.ts'
import { briefly, KEPT_TITLE, keptCalls, resultLine, shorten } from './shorten.ts'
import { nameImages } from './vision.ts'

/** Maximum share of a digest for the user's own words, the newest first. */
const WORDS_SHARE = 0.6
const LEFT_OUT = 'left out to save space'
/** Maximum length kept of a result, and of an assistant's text, in characters. */
const GIST = 160
/** Number of characters read for a gist; enough when half of them are white space. */
const READ = GIST * 4

const FRAME =
  'Record of the earlier part of this conversation, which was removed to save space. It is not a new request, and you can still use your tools.'

/**
 * Returns a digest of a dropped part of a conversation, made without a model: the user's words verbatim, then the calls
 * and their results. Parts too old for the limit are only counted.
 * @param limit tokens
 */
export function digestOf(messages: readonly Message[], limit: number): string {
  const words = nameImages(messages, LEFT_OUT)
    .filter(({ role, from_operator }) => role === 'user' || from_operator)
    .map(message => (message.role === 'user' ? message.content : resultLine(message, messages)))
  const said = newest(words, limit * WORDS_SHARE, content => content)
  const steps = stepsOf(messages)
  const left = limit - said.tokens
  const done = newest(steps, left, step => step.line)
  const olderSteps = steps.slice(0, steps.length - done.lines.length)
  const olderWords = words.length - said.lines.length
  return [
    FRAME,
    ...section('Messages sent to you', [
      ...(olderWords > 0 ? [`(${olderWords} older ones were left out)`] : []),
      ...said.lines,
    ]),
    ...section(KEPT_TITLE, [...new Set(keptCalls(messages))]),
    ...section('What you did', [...(olderSteps.length > 0 ? [countsOf(olderSteps)] : []), ...done.lines]),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length > 0 ? ['', `${title}:`, ...lines.map(line => `- ${line}`)] : []
}

interface Step {
  name: string
  line: string
}

/** One line for each call with the gist of its result, and for each text of the assistant. */
function stepsOf(messages: readonly Message[]): Step[] {
  const results = new Map(messages.filter(({ role }) => role === 'tool').map(each => [each.tool_call_id, each]))
  return messages.flatMap(({ role, content, tool_calls = [] }) => {
    if (role !== 'assistant') return []
    const said = content.trim() === '' ? [] : [{ name: 'text', line: `said: ${gist(content)}` }]
    const calls = tool_calls.map(({ id, name, arguments: args }) => {
      const result = results.get(id)
      const outcome = result ? outcomeOf(result) : 'no result'
      return { name, line: `${name} ${briefly(args)} → ${outcome}` }
    })
    return [...said, ...calls]
  })
}

function outcomeOf({ content, is_error, from_operator }: Message): string {
  return `${is_error ? 'failed: ' : ''}${from_operator ? 'see above' : gist(content)}`
}

function gist(text: string): string {
  const line = text.slice(0, READ).replace(/\s+/g, ' ').trim()
  return line.length > GIST || text.length > READ ? `${line.slice(0, GIST)}…` : line
}

/** Returns the newest items that fit, oldest first; a single one that is too long is shortened. */
function newest<T>(
  items: readonly T[],
  limit: number,
  lineOf: (item: T) => string,
): { lines: string[]; tokens: number } {
  const lines: string[] = []
  let tokens = 0
  for (let at = items.length - 1; at >= 0; at--) {
    const line = lineOf(items[at]!)
    const needs = textTokens(line) + 2
    if (tokens + needs > limit) {
      if (lines.length === 0 && limit > 0) return { lines: [shorten(line, limit)], tokens: limit }
      break
    }
    lines.unshift(line)
    tokens += needs
  }
  return { lines, tokens }
}

function countsOf(steps: readonly Step[]): string {
  const counts = new Map<string, number>()
  for (const { name } of steps) counts.set(name, (counts.get(name) ?? 0) + 1)
  const each = [...counts].map(([name, count]) => `${name} × ${count}`)
  return `(${steps.length} older steps were left out: ${each.join(', ')})`
}
