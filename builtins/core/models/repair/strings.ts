import { Ambiguous, type Repair } from './repairs.ts'

/** Closing quote for each opening quote. */
const CLOSERS: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '‘': '’', '`': '`' }
const QUOTE_REPAIRS: Readonly<Record<string, Repair>> = {
  "'": 'single_quotes',
  '`': 'single_quotes',
  '“': 'smart_quotes',
  '‘': 'smart_quotes',
}
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const SPACE = /[\s\u00a0]*/y
/**
 * Beginning of an object's next member: a key and its colon. Each look-ahead ends at the next quote, so the total time
 * is linear.
 */
const NEXT_KEY = /\s*(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]+'|“[^”\n]+”|[\p{L}_$][\p{L}\p{N}_$-]*)\s*[:=]/uy
const QUOTED_KEY = /\s*"(?:[^"\\\n]|\\.)*"\s*:/y

/** Position of a string: key or value of the outermost object, value of a nested object, or item of an array. */
export type StringPosition = 'key' | 'value' | 'nested' | 'item'

export interface ReadString {
  value: string
  end: number
  repairs: Set<Repair>
}

/**
 * Reads the string that opens at `start`. A quote ends it only if valid JSON follows; other quotes belong to it if they
 * come in pairs. A backslash before a letter that forms no escape is literal, unless the string has other escapes: the
 * meaning of `C:\new\data` is unknown then.
 * @throws Ambiguous also if the text ends within the string
 */
export function readString(text: string, start: number, place: StringPosition): ReadString {
  const opener = text[start]!
  if (text.startsWith(opener.repeat(3), start)) return readTripleQuoted(text, start, place)
  const closer = CLOSERS[opener]!
  const repairs = new Set<Repair>()
  const parts: string[] = []
  let from = start + 1
  let inner = 0
  let escapes = 0
  let backslashes = 0
  const quoteRepair = QUOTE_REPAIRS[opener]
  if (quoteRepair) repairs.add(quoteRepair)
  for (let at = start + 1; at < text.length; at++) {
    const sign = text[at]!
    if (sign === closer) {
      if (closes(text, at + 1, place)) {
        if (inner % 2 === 1 || (backslashes > 0 && escapes > 0)) throw new Ambiguous()
        if (inner > 0) repairs.add('unescaped_quotes')
        parts.push(text.slice(from, at))
        return { value: parts.join(''), end: at + 1, repairs }
      }
      if (closer !== '"' && isApostrophe(text, at)) repairs.add('apostrophes')
      // A quote followed by what looks like the next member may begin that member: the end of the string is ambiguous.
      else if (place !== 'value' || closer !== '"' || matchesAt(QUOTED_KEY, text, at)) throw new Ambiguous()
      else inner++
    } else if (sign === '\\') {
      parts.push(text.slice(from, at))
      const next = text[at + 1]
      if (next === undefined) throw new Ambiguous()
      const meaning = ESCAPES[next]
      if (meaning !== undefined) {
        parts.push(meaning)
        if (/[bfnrt]/.test(next)) escapes++
        at++
      } else if (next === 'u') {
        const code = /^[\da-fA-F]{4}$/.exec(text.slice(at + 2, at + 6))?.[0]
        if (!code) throw new Ambiguous()
        parts.push(String.fromCharCode(Number.parseInt(code, 16)))
        escapes++
        at += 5
      } else if (next === "'" || next === '_') {
        repairs.add('needless_escapes')
        parts.push(next)
        at++
      } else if (/[dwsDWS]/.test(next)) {
        repairs.add('unescaped_backslashes')
        backslashes++
        parts.push(`\\${next}`)
        at++
      } else throw new Ambiguous()
      from = at + 1
    } else if (sign < ' ') repairs.add('raw_control_characters')
  }
  throw new Ambiguous()
}

/**
 * Reads a string in three quotes, as in Python.
 * @throws Ambiguous if it has a backslash, which may be meant literally
 */
function readTripleQuoted(text: string, start: number, place: StringPosition): ReadString {
  const quotes = text.slice(start, start + 3)
  const end = text.indexOf(quotes, start + 3)
  const value = text.slice(start + 3, end)
  if (!/^["']/.test(quotes) || end < 0 || value.includes('\\') || !closes(text, end + 3, place)) throw new Ambiguous()
  return { value, end: end + 3, repairs: new Set(['triple_quotes']) }
}

/**
 * Returns whether a string may end here: a key before its colon; a value before the next member, a closing bracket, or
 * the end.
 */
function closes(text: string, at: number, place: StringPosition): boolean {
  const after = behindSpace(text, at)
  const sign = text[after]
  if (place === 'key') return sign === ':' || sign === '='
  if (sign === undefined) return true
  if (sign === '/') return /[/*]/.test(text[after + 1] ?? '')
  if (place === 'item') return sign === ']' || sign === ','
  if (sign === '}') return true
  if (sign === ',')
    return /[},/]/.test(text[behindSpace(text, after + 1)] ?? '}') || matchesAt(NEXT_KEY, text, after + 1)
  // A missing comma.
  return sign === '"' && after > at && matchesAt(QUOTED_KEY, text, at)
}

function behindSpace(text: string, at: number): number {
  SPACE.lastIndex = at
  return at + (SPACE.exec(text)?.[0].length ?? 0)
}

function isApostrophe(text: string, at: number): boolean {
  return /\p{L}/u.test(text[at - 1] ?? '') && /\p{L}/u.test(text[at + 1] ?? '')
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
