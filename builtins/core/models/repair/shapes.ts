import { isTree } from '#lib/tree'
import { parseJson } from './fit.ts'
import { Reader } from './reader.ts'
import { Ambiguous } from './repairs.ts'

/** A call found in a text, with the raw text of its arguments, which may need repair. */
export interface TextCall {
  name: string
  arguments: string
}

const NAMES = ['name', 'tool', 'tool_name', 'function', 'function_name', 'action']
const ARGUMENTS = ['arguments', 'parameters', 'args', 'input', 'kwargs', 'tool_input', 'action_input']
/** Other keys that a call may have. */
const LABELS = ['id', 'type', 'call_id', 'tool_call_id']

/** Returns the JSON values from `at` on, separated by commas, semicolons or whitespace, and the position after them. */
export function valuesAt(text: string, at: number): { values: unknown[]; end: number } {
  const values: unknown[] = []
  let end = at
  for (;;) {
    const start = endOfMatch(/[\s,;]*/y, text, end)
    const stop = /[{[]/.test(text[start] ?? '') ? endOfJson(text, start) : -1
    const value = stop < 0 ? undefined : parseJson(text.slice(start, stop))
    if (value === undefined) return { values, end }
    values.push(value)
    end = stop
  }
}

/**
 * Returns the calls that values describe: `{name, arguments}` in its many spellings, arrays of these, and OpenAI's
 * format. Undefined if any value is something else.
 * @param strict rejects calls without arguments or with unknown keys
 */
export function callsOf(values: readonly unknown[], strict: boolean): TextCall[] | undefined {
  const calls: TextCall[] = []
  for (const value of values) {
    const inner = Array.isArray(value)
      ? callsOf(value, strict)
      : isTree(value) && Array.isArray(value.tool_calls)
        ? callsOf(value.tool_calls, strict)
        : callOf(value, strict)
    if (!inner) return undefined
    calls.push(...inner)
  }
  return calls.length > 0 ? calls : undefined
}

function callOf(value: unknown, strict: boolean): TextCall[] | undefined {
  if (!isTree(value)) return undefined
  if (isTree(value.function)) return callOf(value.function, strict)
  const nameKey = NAMES.find(key => typeof value[key] === 'string')
  const argumentsKey = ARGUMENTS.find(key => Object.hasOwn(value, key))
  if (nameKey === undefined) return undefined
  const others = Object.keys(value).filter(key => key !== nameKey && key !== argumentsKey && !LABELS.includes(key))
  if (strict && (argumentsKey === undefined || others.length > 0)) return undefined
  const given =
    argumentsKey === undefined ? Object.fromEntries(others.map(key => [key, value[key]])) : value[argumentsKey]
  return [{ name: String(value[nameKey]), arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}) }]
}

const NAME = new RegExp(`["']?(?:${NAMES.join('|')})["']?\\s*[:=]\\s*["']([\\w.:/-]{1,100})["']`)
const ARGUMENTS_START = new RegExp(`["']?(?:${ARGUMENTS.join('|')})["']?\\s*[:=]\\s*(?=[{"'\\[])`)

/** The calls of a block whose JSON is broken: read leniently as a whole, or as a name and the raw text of its arguments. */
export function brokenCalls(body: string): TextCall[] | undefined {
  const start = body.search(/[{[]/)
  if (start < 0) return undefined
  try {
    const { value, end, repairs } = new Reader(body, start).read()
    const rest = body.slice(end).trim()
    if (/^[}\]]*$/.test(rest) && !repairs.has('missing_closers')) return callsOf([value], false)
  } catch (error) {
    if (!(error instanceof Ambiguous)) throw error
  }
  const name = NAME.exec(body.slice(0, 500))?.[1]
  const opened = ARGUMENTS_START.exec(body.slice(0, 1_000))
  if (!name || !opened) return undefined
  const rest = body.slice(opened.index + opened[0].length).trim()
  return [{ name, arguments: rest.endsWith('}') ? rest.slice(0, -1).trim() : rest }]
}

const ELEMENT = /\s*<(?:parameter(?:=|\s+name=)["']?([^\s"'>]{1,100})["']?\s{0,20}|arg_key)>/y

/**
 * Returns arguments written as elements: `<parameter=path>a.txt</parameter>`, or `name="path"`, or as pairs of key and
 * value. Undefined if there is other text between them: a value may then contain text that looks like its end.
 */
export function elementsOf(body: string): string | undefined {
  const pairs = new Map<string, string>()
  const start = body.search(/<(?:parameter|arg_key)\b/)
  for (let at = start; at < body.trimEnd().length; ) {
    ELEMENT.lastIndex = at
    const opened = ELEMENT.exec(body)
    if (!opened)
      return /^\s*<\/(?:function|invoke|tool_call)>\s*$/.test(body.slice(at, at + 40))
        ? writeArguments(pairs)
        : undefined
    const element =
      opened[1] === undefined
        ? keyedElement(body, at + opened[0].length)
        : namedElement(body, at + opened[0].length, opened[1])
    if (!element || pairs.has(element.key)) return undefined
    // Templates put each value on separate lines.
    pairs.set(element.key, element.value.replace(/^\r?\n|\r?\n$/g, ''))
    at = element.end
  }
  return writeArguments(pairs)
}

interface Element {
  key: string
  value: string
  end: number
}

function namedElement(body: string, from: number, key: string): Element | undefined {
  const close = body.indexOf('</parameter>', from)
  return close < 0 ? undefined : { key, value: body.slice(from, close), end: close + '</parameter>'.length }
}

function keyedElement(body: string, from: number): Element | undefined {
  const closedKey = body.indexOf('</arg_key>', from)
  const opened = body.indexOf('<arg_value>', closedKey)
  const closed = body.indexOf('</arg_value>', opened)
  if (closedKey < 0 || opened < 0 || closed < 0) return undefined
  const value = body.slice(opened + '<arg_value>'.length, closed)
  return { key: body.slice(from, closedKey).trim(), value, end: closed + '</arg_value>'.length }
}

function writeArguments(pairs: ReadonlyMap<string, string>): string | undefined {
  return pairs.size > 0 ? JSON.stringify(Object.fromEntries(pairs)) : undefined
}

/** Returns the position after the JSON object or array at `start`; -1 if it does not end. */
function endOfJson(text: string, start: number): number {
  const sign = /["\\{}[\]]/g
  sign.lastIndex = start
  let depth = 0
  let quoted = false
  for (let found = sign.exec(text); found; found = sign.exec(text)) {
    const [mark] = found
    if (mark === '\\') sign.lastIndex++
    else if (mark === '"') quoted = !quoted
    else if (!quoted) {
      depth += mark === '{' || mark === '[' ? 1 : -1
      if (depth === 0) return found.index + 1
    }
  }
  return -1
}

/** Returns the position after the match of a sticky pattern at `at`; `at` itself if there is no match. */
export function endOfMatch(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return at + (pattern.exec(text)?.[0].length ?? 0)
}
