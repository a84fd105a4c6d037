import { fold, rewritten, type View } from '../fold.ts'
import type { Span } from '../rule.ts'

/** Shorter runs say nothing. */
export const BASE64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g
export const HEX = /(?:[\da-f]{2}[ :,]?){12,}/gi
export const ESCAPES =
  /%[\da-f]{2}|\\x[\da-f]{2}|\\u[\da-f]{4}|\\u\{[\da-f]{1,6}\}|&#\d{2,6};|&#x[\da-f]{2,5};|&(?:lt|gt|amp|quot|nbsp);/gi
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ' }
/** Fewer escapes hide no sentence. */
const FEW = 3

/** What stands in base64 or hexadecimal, read as text, with where it stood. */
export function* decodedRuns(text: string): Generator<{ text: string; at: Span }> {
  for (const { 0: run, index } of text.matchAll(BASE64)) {
    const decoded = readable(Buffer.from(run, 'base64'))
    if (decoded) yield { text: decoded, at: { start: index, end: index + run.length } }
  }
  for (const { 0: run, index } of text.matchAll(HEX)) {
    const decoded = readable(Buffer.from(run.replace(/[^\da-f]/gi, ''), 'hex'))
    if (decoded) yield { text: decoded, at: { start: index, end: index + run.length } }
  }
}

/** Bytes by which text is told from anything else. */
const SAMPLE = 256

/** Text as rules read it, if it is text and not just bytes. */
function readable(bytes: Buffer): string | undefined {
  if (!isText(bytes.toString('utf8', 0, SAMPLE))) return undefined
  return fold(bytes.toString('utf8')).text
}

function isText(text: string): boolean {
  const strange = text.match(/[^\p{L}\p{N}\p{P}\p{Zs}\p{S}\s]|\ufffd/gu)?.length ?? 0
  return strange * 20 <= text.length && /[a-z\u0400-\uffff]{3}/i.test(text)
}

/** The text with its escapes of URLs, JSON, code and HTML resolved; undefined when there are hardly any. */
export function unescaped(text: string): View | undefined {
  const found = [...text.matchAll(ESCAPES)]
  if (found.length < FEW) return undefined
  return rewritten(text.length, keep => {
    let at = 0
    for (const { 0: code, index } of found) {
      keep(at, text.slice(at, index), true)
      keep(index, meaning(code))
      at = index + code.length
    }
    keep(at, text.slice(at), true)
  })
}

function meaning(written: string): string {
  const named = NAMED[written.slice(1, -1).toLowerCase()]
  if (named !== undefined) return named
  const digits = written.replace(/^[&#\\%xu{]+|[;}]$/gi, '')
  const code = Number.parseInt(digits, /^&#\d/.test(written) ? 10 : 16)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' '
}

/** The text with each letter put 13 on. */
export function rot13(text: string): string {
  return mapped(text, code => {
    const small = code | 0x20
    return small < 97 || small > 122 ? code : small < 110 ? code + 13 : code - 13
  })
}

function mapped(text: string, map: (code: number, at: number) => number): string {
  const codes = new Uint16Array(text.length)
  for (let at = 0; at < codes.length; at++) codes[at] = map(text.charCodeAt(at), at)
  return Buffer.from(codes.buffer).toString('utf16le')
}

/** Digits and signs that stand for letters, by their codes. */
const LEET = new Map([...'013457@$'].map((sign, n): [number, number] => [sign.charCodeAt(0), 'oieastas'.charCodeAt(n)]))

/** Nothing but letters, small: `1gn0r3`, `i g n o r e` and `i.g-n_o*r~e` are the same word then. */
export function compact(text: string): View {
  const letters = Buffer.alloc(text.length)
  const origins = new Uint32Array(text.length + 1)
  let size = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const small = code | 0x20
    const letter = small >= 97 && small <= 122 ? small : LEET.get(code)
    if (letter === undefined) continue
    letters[size] = letter
    origins[size++] = at
  }
  return {
    text: letters.toString('latin1', 0, size),
    span: (start, end) => ({ start: origins[start] as number, end: (origins[end - 1] as number) + 1 }),
  }
}

/** The text from its end to its beginning. */
export function reversed(text: string): View {
  const length = text.length
  return {
    text: mapped(text, (_, at) => text.charCodeAt(length - 1 - at)),
    span: (start, end) => ({ start: length - end, end: length - start }),
  }
}
