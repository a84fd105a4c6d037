/** A pattern as a tree. Repeats without an upper bound have `max` Infinity. */
export type Node =
  /** One character, class or escape, as written. */
  | { kind: 'one'; atom: string }
  | { kind: 'edge'; at: 'start' | 'end' | 'word' | 'inside' }
  /** Lookahead or lookbehind; only allowed with `looks`. */
  | { kind: 'look'; of: Node; behind: boolean; wanted: boolean }
  | { kind: 'all'; parts: readonly Node[] }
  | { kind: 'any'; parts: readonly Node[] }
  | { kind: 'repeat'; of: Node; min: number; max: number; lazy: boolean }

/** Error that names the unsupported part of a pattern and its position. */
export class PatternError extends Error {}

const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^\\[1-9k]/, 'uses a backreference, which cannot be matched in linear time'],
  [/^\(\?</, 'names a group; leave the name out'],
  [/^\(\?[^:]/, 'sets flags for a part of the pattern; use ignore_case for the whole pattern'],
]
/** Characters that match themselves. */
const PLAIN = /[\w ]/
const LOOK = /^\(\?(<?)([=!])/
const EDGES: Readonly<Record<string, 'start' | 'end' | 'word' | 'inside'>> = {
  '^': 'start',
  $: 'end',
  '\\b': 'word',
  '\\B': 'inside',
}
/** Matches one character that is no operator, or an escape. */
const ATOM =
  /^(?:\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]{1,6}\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\[pP]\{[\w=]{1,60}\}|\\c[a-zA-Z]|\\.|[^\\])/su
const REPEAT = /^(?:[*+?]|\{(\d{1,9})(?:(,)(\d{0,9}))?\})(\??)/

/**
 * Parses a regular expression with the flag `u`. Rejects what cannot be matched in linear time: backreferences, and,
 * without `looks`, lookaheads and lookbehinds. Syntax errors come from the platform's own parser. @throws PatternError,
 * SyntaxError
 */
export function parsePattern(source: string, { looks = false } = {}): Node {
  new RegExp(source, 'u')
  return new Reader(source, looks).alternatives()
}

class Reader {
  #at = 0
  readonly #source: string
  readonly #looks: boolean

  constructor(source: string, looks: boolean) {
    this.#source = source
    this.#looks = looks
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
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] as string)) {
      parts.push(this.#repetition(this.#one()))
    }
    return { kind: 'all', parts }
  }

  #repetition(of: Node): Node {
    if (!'*+?{'.includes(this.#source[this.#at] ?? ' ')) return of
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
    const plain = this.#source[this.#at] as string
    if (PLAIN.test(plain)) {
      this.#at++
      return { kind: 'one', atom: plain }
    }
    const rest = this.#rest
    const look = LOOK.exec(rest)
    if (look) return this.#look(look)
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
    return { kind: 'one', atom }
  }

  #look([start, behind, sign]: RegExpExecArray): Node {
    if (!this.#looks) {
      const what = 'uses a lookahead or lookbehind, which cannot be matched in linear time'
      throw new PatternError(`at character ${this.#at + 1} it ${what}`)
    }
    this.#at += start.length
    const of = this.alternatives()
    this.#at++
    return { kind: 'look', of, behind: behind === '<', wanted: sign === '=' }
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
