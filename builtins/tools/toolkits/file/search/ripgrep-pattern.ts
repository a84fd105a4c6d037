/** Tokens of an expression: escapes, classes, starts of groups, repetitions, and single characters. */
const PARTS =
  /\\x[\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\(\?:|\(\?<(?![=!])[^>]*>|\(\?|\{\d+(?:,\d*)?\}|[\s\S]/g
/** References to groups, lookaround, and rare escapes, which ripgrep lacks or interprets differently. */
const UNKNOWN = /^(?:\\[\dkc]|\(\?)$/
/** Tokens with the same meaning in JavaScript and ripgrep. */
const SAME = /^(?:[)|*+?^]|\\[bB]|\{.*\})$/
/** Matches any non-ASCII character, and invalid UTF-8 bytes that stand for one. */
const OTHER = '(?:[\\x80-\\xff]{1,4})'

/** All characters of a line: ASCII ones individually, the others in one string. */
const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter(char => char !== '\n')
const OTHERS = Array.from({ length: 0xffff - 0x7f }, (_, n) => String.fromCharCode(0x80 + n)).join('')

/**
 * Converts a JavaScript expression to a ripgrep expression on bytes. It matches each line that the original matches,
 * and possibly more lines with non-ASCII characters. Character sets follow JavaScript.
 * @returns undefined for what ripgrep cannot express (lookaround, references, `\b` after `$`, which here consumes the
 * carriage return of a line), and for expressions that match an empty line, because ripgrep does not count an empty
 * last line
 */
export function ripgrepPattern(source: string, flags: string): string | undefined {
  if (new RegExp(source, flags).test('')) return undefined
  const parts: readonly string[] = source.match(PARTS) ?? []
  if (parts.some(part => UNKNOWN.test(part))) return undefined
  if (parts.includes('$') && parts.indexOf('$') < parts.lastIndexOf('\\b')) return undefined
  const written = new Map<string, string>()
  const write = (part: string) => {
    if (!written.has(part)) written.set(part, writtenPart(part, flags))
    return written.get(part)!
  }
  return `(?-u)(?:${parts.map(write).join('')})`
}

function writtenPart(part: string, flags: string): string {
  if (part.startsWith('(')) return '(?:'
  if (part === '$') return '(?:\\r?$)'
  if (SAME.test(part)) return part
  const code = part.charCodeAt(0)
  const isOne = code > 0x7f && flags === '' && code !== 0xfffd && !/\p{Cs}/u.test(part)
  if (isOne) return `(?:${[...Buffer.from(part)].map(hex).join('')})`
  const expression = new RegExp(`^${part}$`, flags)
  const codes = ASCII.filter(char => expression.test(char)).map(char => char.charCodeAt(0))
  const set = codes.length === 0 ? [] : [`[${rangesOf(codes)}]`]
  const others = set.length === 0 || new RegExp(part, flags).test(OTHERS) ? [OTHER] : []
  return `(?:${[...set, ...others].join('|')})`
}

function rangesOf(codes: readonly number[]): string {
  let ranges = ''
  for (let at = 0; at < codes.length; at++) {
    const first = at
    while (codes[at + 1] === codes[at]! + 1) at++
    ranges += at === first ? hex(codes[at]!) : `${hex(codes[first]!)}-${hex(codes[at]!)}`
  }
  return ranges
}

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, '0')}`
}
