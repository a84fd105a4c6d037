import { textTokens } from '#lib/text-tokens'
import type { SentMessage as Message } from '../contract.ts'
import { briefly, endingOf, KEPT_TITLE, keptCalls, resultLine, shorten } from './shorten.ts'
import { nameImages } from './vision.ts'

/** Maximum share of a digest for the user's own words, the newest first. */
const WORDS_SHARE = 0.6
/** Maximum share of the rest for the agent's own texts: what it concluded says more than how results began. */
const TEXTS_SHARE = 0.5
/** Name of a step that is a text of the agent. */
const TEXT = 'text'
const LEFT_OUT = 'left out to save space'
/** Maximum length kept of a result, and of an assistant's text, in characters. */
const GIST = 160
/** Maximum number of paths named for the calls of a tool that are only counted, and of characters of each. */
const PATHS = 3
const PATH_CHARS = 40
/** Number of characters read for a gist; enough when half of them are white space. */
const READ = GIST * 4

const FRAME =
  'Record of the earlier part of this conversation, which was removed to save space. It is not a new request, and you can still use your tools.'

/**
 * Returns a digest of a dropped part of a conversation, made without a model, in the order of the conversation: the
 * user's words verbatim, and the calls with the beginnings of their results. Parts too old for the limit are only counted.
 * @param limit tokens
 */
export function digestOf(messages: readonly Message[], limit: number): string {
  const words = wordsIn(messages)
  const texts = newest(words, limit * WORDS_SHARE)
  const steps = withoutRepeats(stepsOf(messages))
  const rest = limit - texts.tokens
  const ownTexts = steps.filter(({ name }) => name === TEXT)
  const calls = steps.filter(({ name }) => name !== TEXT)
  const said = newest(ownTexts, rest * TEXTS_SHARE)
  const done = newest(calls, rest - said.tokens)
  const olderWords = words.length - texts.entries.length
  const olderSteps = [
    ...ownTexts.slice(0, ownTexts.length - said.entries.length),
    ...calls.slice(0, calls.length - done.entries.length),
  ]
  return [
    FRAME,
    ...section(KEPT_TITLE, [...new Set(keptCalls(messages))]),
    ...section('What was said and done, oldest first', [
      ...(olderWords > 0 ? [`(${olderWords} older messages to you were left out)`] : []),
      ...(olderSteps.length > 0 ? [countsOf(olderSteps)] : []),
      ...[...texts.entries, ...said.entries, ...done.entries].sort((a, b) => a.at - b.at).map(({ line }) => line),
    ]),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length > 0 ? ['', `${title}:`, ...lines.map(line => `- ${line}`)] : []
}

/** A line of the digest, with the index of its message. */
interface Entry {
  at: number
  line: string
  /** The called tool, `TEXT` or `report`; for a step. */
  name?: string
  /** The file that the call was about, if it was about one. */
  path?: string | undefined
}

/** Returns the messages to the agent other than notices and reports, and results with words of the operator. */
function wordsIn(messages: readonly Message[]): Entry[] {
  return nameImages(messages, LEFT_OUT).flatMap((message, at) => {
    const isSaid = message.role === 'user' && !message.is_notice && !message.is_report
    if (!isSaid && !message.from_operator) return []
    return [{ at, line: `to you: ${message.role === 'user' ? message.content : resultLine(message, messages)}` }]
  })
}

/** One line for each call with the gist of its result, for each text of the assistant, and for each report. */
function stepsOf(messages: readonly Message[]): (Entry & { name: string })[] {
  const results = new Map(messages.filter(({ role }) => role === 'tool').map(each => [each.tool_call_id, each]))
  return messages.flatMap(({ role, content, tool_calls = [], is_report }, at) => {
    if (is_report) return [{ at, name: 'report', line: `to you: ${gist(content)}` }]
    if (role !== 'assistant') return []
    const texts = content.trim() === '' ? [] : [{ at, name: TEXT, line: `you said: ${gist(content)}` }]
    const calls = tool_calls.map(({ id, name, arguments: args }) => {
      const result = results.get(id)
      const outcome = result ? outcomeOf(result) : 'no result'
      return { at, name, path: pathIn(args), line: `${name} ${briefly(args)} → ${outcome}` }
    })
    return [...texts, ...calls]
  })
}

/** Keeps the newest of equal steps, with their number: a small model repeats itself, and a digest of that says nothing else. */
function withoutRepeats<T extends Entry>(steps: readonly T[]): T[] {
  const times = new Map<string, number>()
  for (const { line } of steps) times.set(line, (times.get(line) ?? 0) + 1)
  const newest = new Map(steps.map(step => [step.line, step]))
  return steps
    .filter(step => newest.get(step.line) === step)
    .map(step => (times.get(step.line)! > 1 ? { ...step, line: `${step.line} (${times.get(step.line)} times)` } : step))
}

function outcomeOf({ content, is_error, from_operator }: Message): string {
  if (from_operator) return `${is_error ? 'failed: ' : ''}see below`
  const ending = content.length > GIST ? endingOf(content) : ''
  return `${is_error ? 'failed: ' : ''}${gist(content)}${ending && ` … ${ending}`}`
}

function gist(text: string): string {
  const line = text.slice(0, READ).replace(/\s+/g, ' ').trim()
  return line.length > GIST || text.length > READ ? `${line.slice(0, GIST)}…` : line
}

/** Returns the newest entries that fit, oldest first; a single one that is too long is shortened. */
function newest(all: readonly Entry[], limit: number): { entries: Entry[]; tokens: number } {
  const entries: Entry[] = []
  let tokens = 0
  for (const entry of all.toReversed()) {
    const needs = textTokens(entry.line) + 2
    if (tokens + needs > limit) {
      if (entries.length > 0 || limit <= 0) break
      return { entries: [{ ...entry, line: shorten(entry.line, limit) }], tokens: limit }
    }
    entries.unshift(entry)
    tokens += needs
  }
  return { entries, tokens }
}

function pathIn(args: unknown): string | undefined {
  const { path } = Object(args)
  return typeof path === 'string' && path.length <= PATH_CHARS ? path : undefined
}

/** Counts steps by tool, with the files that they were about: what was written is worth more than its result. */
function countsOf(steps: readonly { name: string; path?: string | undefined }[]): string {
  const byName = new Map<string, (string | undefined)[]>()
  for (const { name, path } of steps) byName.set(name, [...(byName.get(name) ?? []), path])
  const each = [...byName].map(([name, calls]) => {
    const paths = [...new Set(calls.filter(path => path !== undefined))]
    const more = paths.length > PATHS ? ', …' : ''
    const files = paths.length > 0 ? ` (${paths.slice(-PATHS).join(', ')}${more})` : ''
    return `${name} × ${calls.length}${files}`
  })
  return `(${steps.length} older steps were left out: ${each.join(', ')})`
}
