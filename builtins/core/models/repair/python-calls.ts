import { isTree } from '#lib/tree'
import { parseJson } from './fit.ts'
import { endOfMatch, type TextCall } from './shapes.ts'

const OPENING = /([\w.-]{1,100})\(/y
const SEPARATOR = /[\s,;]*/y
const STRING = [
  '"""(?:[^"\\\\]|\\\\[\\s\\S]|"(?!""))*"""',
  "'''(?:[^'\\\\]|\\\\[\\s\\S]|'(?!''))*'''",
  '"[^"\\\\]*(?:\\\\[\\s\\S][^"\\\\]*)*"',
  "'[^'\\\\]*(?:\\\\[\\s\\S][^'\\\\]*)*'",
].join('|')
/** One token of arguments: the end, a string, the name of an argument, a word, or a number or sign as in JSON. */
const TOKEN = new RegExp(
  `\\s*(?:(\\))|(${STRING})|([A-Za-z_]\\w*)\\s*=(?!=)|(True|False|None|true|false|null)\\b|(-?\\d[\\d.eE+-]*|[[\\]{}:,]))`,
  'y',
)
const WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

/**
 * Returns the calls of a text that consists only of calls with keyword arguments and literal values, as Llama 3 and 4
 * write them: `[get_weather(city="Bern")]`. Undefined if there is anything else. Without the brackets, a call without
 * arguments is none, because an answer may just name a function.
 */
export function pythonCalls(text: string): TextCall[] | undefined {
  const body = text.trim()
  const isList = body.startsWith('[') && body.endsWith(']')
  const end = isList ? body.length - 1 : body.length
  const calls: TextCall[] = []
  for (let at = endOfMatch(SEPARATOR, body, isList ? 1 : 0); at < end; ) {
    const found = callAt(body, at)
    if (!found || (found.call.arguments === '{}' && !isList)) return undefined
    calls.push(found.call)
    at = endOfMatch(SEPARATOR, body, found.end)
  }
  return calls.length > 0 ? calls : undefined
}

function callAt(text: string, start: number): { call: TextCall; end: number } | undefined {
  OPENING.lastIndex = start
  const opened = OPENING.exec(text)
  if (!opened) return undefined
  let json = '{'
  for (let at = start + opened[0].length; ; ) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)
    if (!token) return undefined
    at += token[0].length
    const [, close, string, key, word, sign] = token
    if (close) {
      const args = parseJson(`${json.replace(/,$/, '')}}`)
      return isTree(args) ? { call: { name: opened[1]!, arguments: JSON.stringify(args) }, end: at } : undefined
    }
    json += string
      ? JSON.stringify(unquote(string))
      : key
        ? `${JSON.stringify(key)}:`
        : word
          ? (WORDS[word] ?? word)
          : sign
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', '\n': '' }

/** Returns the content of a Python string literal. Unknown escapes stay as they are. */
function unquote(literal: string): string {
  const quotes = /^(?:"""|''')/.test(literal) ? 3 : 1
  return literal
    .slice(quotes, -quotes)
    .replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/g, (whole, hex, unicode, sign: string) => {
      if (hex ?? unicode) return String.fromCharCode(Number.parseInt(hex ?? unicode, 16))
      return /["'\\]/.test(sign) ? sign : (ESCAPES[sign] ?? whole)
    })
}
