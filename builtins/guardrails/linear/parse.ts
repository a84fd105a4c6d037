/** A pattern as a tree. Repeats without an upper bound have `max` Infinity. */
export type Node =
  | { kind: 'one'; test: (code: number) => boolean }
  | { kind: 'edge'; at: 'start' | 'end' | 'word' | 'inside' }
  | { kind: 'all'; parts: readonly Node[] }
  | { kind: 'any'; parts: readonly Node[] }
  | { kind: 'repeat'; of: Node; min: number; max: number; lazy: boolean }

/** Says what of a pattern is not understood, and at which character. */
export class PatternError extends Error {}

const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^\(\?<?[=!]/, 'looks ahead or behind, which cannot be matched in linear time'],
  [/^\\[1-9k]/, 'refers back to a group, which cannot be matched in linear time'],
  [/^\(\?</, 'names a group; leave the name out'],
  [/^\(\?[^:]/, 'sets flags for a part; use ignore_case for the whole'],
]
const EDGES: Readonly<Record<string, 'start' | 'end' | 'word' | 'inside'>> = {
  '^': 'start',
  $: 'end',
  '\\b': 'word',
  '\\B': 'inside',
}
/** One character of a pattern that is no operator: an escape, or itself. */
const ATOM =
  /^(?:\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]{1,6}\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\[pP]\{[\w=]{1,60}\}|\\c[a-zA-Z]|\\.|[^\\])/su
const REPEAT = /^(?:[*+?]|\{(\d{1,9})(?:(,)(\d{0,9}))?\})(\??)/

/**
 * Reads a regular expression with the flag `u`, but for what cannot be matched in linear time: what refers back, looks ahead
 * or looks behind. What is a syntax error, the platform's own parser says.
 * @throws PatternError, SyntaxError
 */
export function parsePattern(source: string, ignoreCase: boolean): Node {
  new RegExp(source, 'u')
  const reader = new Reader(source, ignoreCase ? 'iu' : 'u')
  return reader.alternatives()
}

class Reader {
  #at = 0
  readonly #source: string
  readonly #flags: string
  readonly #tests = new Map<string, (code: number) => boolean>()

  constructor(source: string, flags: string) {
    this.#source = source
    this.#flags = flags
  }

  get #rest(): string {
    return this.#source.slice(this.#at)
  }

  alternatives(): Node {
    const parts = [this.#sequence()]
    while (this.#source[this.#at] === '|') {
      this.#at++
      parts.push(this.#sequence())
    }
    return parts.length === 1 ? (parts[0] as Node) : { kind: 'any', parts }
  }

  #sequence(): Node {
    const parts: Node[] = []
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at] as string)) {
      parts.push(this.#repeated(this.#one()))
    }
    return { kind: 'all', parts }
  }

  #repeated(of: Node): Node {
    const found = REPEAT.exec(this.#rest)
    if (!found) return of
    this.#at += found[0].length
    const [text, least, comma, most, lazy] = found
    const sign = text[0]
    const min = least === undefined ? (sign === '+' ? 1 : 0) : Number(least)
    const max = least === undefined ? (sign === '?' ? 1 : Infinity) : comma ? Number(most || Infinity) : min
    return { kind: 'repeat', of, min, max, lazy: lazy === '?' }
  }

  #one(): Node {
    const rest = this.#rest
    for (const [start, what] of UNSUPPORTED) {
      if (start.test(rest)) throw new PatternError(`at character ${this.#at + 1} it ${what}`)
    }
    if (rest[0] === '(') return this.#group()
    const edge = EDGES[rest[0] as string] ?? EDGES[rest.slice(0, 2)]
    if (edge) {
      this.#at += rest[0] === '\\' ? 2 : 1
      return { kind: 'edge', at: edge }
    }
    const atom = rest[0] === '[' ? this.#class() : (ATOM.exec(rest)?.[0] as string)
    this.#at += atom.length
    const test = this.#tests.get(atom) ?? remembered(new RegExp(`^${atom}$`, this.#flags))
    this.#tests.set(atom, test)
    return { kind: 'one', test }
  }

  #group(): Node {
    this.#at += this.#rest.startsWith('(?:') ? 3 : 1
    const inside = this.alternatives()
    this.#at++
    return inside
  }

  #class(): string {
    let end = this.#at + 1
    while (this.#source[end] !== ']') end += this.#source[end] === '\\' ? 2 : 1
    return this.#source.slice(this.#at, end + 1)
  }
}

/** The platform decides once for each character of the basic plane whether it fits. */
function remembered(fits: RegExp): (code: number) => boolean {
  const verdicts = new Uint8Array(0x10000)
  return code => {
    if (code > 0xffff) return fits.test(String.fromCodePoint(code))
    if (verdicts[code] === 0) verdicts[code] = fits.test(String.fromCharCode(code)) ? 1 : 2
    return verdicts[code] === 1
  }
}
