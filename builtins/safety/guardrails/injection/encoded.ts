import { fold, Rewriting, textOf, type View } from '../fold.ts'
import { once } from '../lazy.ts'
import type { Span } from '../rule.ts'

/** Base64 runs; shorter ones are ignored. */
const BASE64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g
const HEX = /(?:[\da-f]{2}[ :,]?){12,}/gi
const ESCAPE =
  /%[\da-f]{2}|\\x[\da-f]{2}|\\u(?:[\da-f]{4}|\{[\da-f]{1,6}\})|&(?:#(?:\d{2,6}|x[\da-f]{2,5})|lt|gt|amp|quot|nbsp);/iy
const ANY_ESCAPE = new RegExp(ESCAPE.source, 'gi')
const PERCENT = 37
const BACKSLASH = 92
const AMPERSAND = 38
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ' }
/** Minimum number of escapes; fewer cannot hide a sentence. */
const FEW = 3

/** Decodes base64 and hexadecimal runs. A finding in the result covers the whole run in the original. */
export function decodeRuns(text: string): View | undefined {
  const pieces: string[] = []
  const runs: Span[] = []
  const ends: number[] = []
  let size = 0
  const take = (run: string, index: number, encoding: 'base64' | 'hex') => {
    const read = readable(run, encoding)
    if (read === undefined) return
    pieces.push(read, APART)
    size += read.length + APART.length
    runs.push({ start: index, end: index + run.length })
    ends.push(size)
  }
  for (const { 0: run, index } of text.matchAll(BASE64)) take(run, index, 'base64')
  for (const { 0: run, index } of text.matchAll(HEX)) take(run, index, 'hex')
  if (runs.length === 0) return undefined
  const runAt = (place: number) => {
    let low = 0
    for (let high = ends.length - 1; low < high; ) {
      const middle = (low + high) >> 1
      if (place < (ends[middle] as number)) high = middle
      else low = middle + 1
    }
    return runs[low] as Span
  }
  return {
    text: pieces.join(''),
    span: (start, end) => ({ start: runAt(start).start, end: runAt(end - 1).end }),
  }
}

/**
 * Separates decoded runs. It ends sentences and is longer than the gap between words that a pattern allows, so that no
 * match spans two runs.
 */
const APART = '\n.....\n'
/** Number of bytes examined to detect text, and their buffer. */
const SAMPLE = 256
const sample = Buffer.alloc(SAMPLE)

/** Decodes a run; undefined if the bytes are not text. */
function readable(run: string, encoding: 'base64' | 'hex'): string | undefined {
  const written = encoding === 'hex' ? run.replace(/[^\da-f]/gi, '') : run
  const bytes = sample.subarray(0, sample.write(written.slice(0, SAMPLE * 2), encoding))
  if (!isText(bytes)) return undefined
  return fold(Buffer.from(written, encoding).toString('utf8')).text
}

/** Returns whether bytes are text: at most 5 % are unusual in text, and there are three letters in a row. */
function isText(bytes: Buffer): boolean {
  let wrong = 0
  let wide = false
  let letters = 0
  let most = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte >= 0x80) wide = true
    // Such a control character is a sign of binary data.
    if (byte < 0x20 ? byte < 9 || byte > 13 : byte === 0x7f) wrong++
    else if (byte >= 0x80 && byte < 0xc0 && (bytes[at - 1] ?? 0) < 0x80) wrong++
    const small = byte | 0x20
    letters = small >= 0x61 && small <= 0x7a ? letters + 1 : 0
    most = Math.max(most, letters)
  }
  if (wrong * 20 > bytes.length) return false
  if (!wide) return most >= 3
  const text = bytes.toString('utf8')
  const strange = text.match(/[^\p{L}\p{N}\p{P}\p{Zs}\p{S}\s]|\ufffd/gu)?.length ?? 0
  return strange * 20 <= text.length && /[a-z\u0400-\uffff]{3}/i.test(text)
}

/** Resolves escapes of URLs, JSON, code and HTML; undefined if there are only a few. */
export function unescapeText(text: string): View | undefined {
  if (!areMany(text)) return undefined
  const made = new Rewriting(text.length)
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at)
    if (unit === PERCENT || unit === BACKSLASH || unit === AMPERSAND) {
      ESCAPE.lastIndex = at
      if (ESCAPE.test(text)) {
        made.addAll(meaning(text, at, ESCAPE.lastIndex), at)
        at = ESCAPE.lastIndex
        continue
      }
    }
    made.add(unit, at++)
  }
  return made.view()
}

function areMany(text: string): boolean {
  ANY_ESCAPE.lastIndex = 0
  for (let n = 0; n < FEW; n++) if (!ANY_ESCAPE.test(text)) return false
  return true
}

function meaning(text: string, start: number, end: number): string {
  if (text[start] === '&' && text[start + 1] !== '#') return NAMED[text.slice(start + 1, end - 1).toLowerCase()] ?? ' '
  const base = text[start] === '&' && !/x/i.test(text[start + 2] as string) ? 10 : 16
  let code = 0
  for (let at = start + 1; at < end; at++) {
    const digit = text.charCodeAt(at)
    if (digit >= 48 && digit <= 57) code = code * base + digit - 48
    else if ((digit | 0x20) >= 97 && (digit | 0x20) <= 102) code = code * base + (digit | 0x20) - 87
  }
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' '
}

/** Returns the text in ROT13. */
export function rot13(text: string): string {
  return mapCharacters(text, code => {
    const small = code | 0x20
    return small < 97 || small > 122 ? code : small < 110 ? code + 13 : code - 13
  })
}

function mapCharacters(text: string, map: (code: number, at: number) => number): string {
  const codes = new Uint16Array(text.length)
  let seen = 0
  for (let at = 0; at < codes.length; at++) seen |= codes[at] = map(text.charCodeAt(at), at)
  return textOf(codes, seen)
}

/** Maps ASCII to lower-case letters, also digits and signs that stand for letters; 0 for all others. */
const LETTERS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code).toLowerCase()
  const sign = '013457@$'.indexOf(char)
  return sign >= 0 ? 'oieastas'.charCodeAt(sign) : /[a-z]/.test(char) ? char.charCodeAt(0) : 0
})

/** Returns only the letters, in lower case: `1gn0r3`, `i g n o r e` and `i.g-n_o*r~e` become the same word. */
export function compact(text: string): View {
  const letters = Buffer.allocUnsafe(text.length)
  let size = 0
  for (let at = 0; at < text.length; at++) {
    const letter = LETTERS[text.charCodeAt(at)]
    if (letter) letters[size++] = letter
  }
  const origins = once(() => originsOf(text, size))
  return {
    text: letters.toString('latin1', 0, size),
    span: (start, end) => ({ start: origins()[start] as number, end: (origins()[end - 1] as number) + 1 }),
  }
}

function originsOf(text: string, size: number): Uint32Array {
  const origins = new Uint32Array(size)
  for (let at = 0, n = 0; at < text.length; at++) if (LETTERS[text.charCodeAt(at)]) origins[n++] = at
  return origins
}

export function reverseText(text: string): View {
  const length = text.length
  return {
    text: mapCharacters(text, (_, at) => text.charCodeAt(length - 1 - at)),
    span: (start, end) => ({ start: length - end, end: length - start }),
  }
}
