/** More than an answer may have: what is held is let go then, so that the limit of the answer applies. */
const MAX_HELD = 1024 * 1024
/** What a call begins with, as far as a stream can tell; others begin a line. */
const OPENINGS = [
  '```',
  '<tool_call',
  '<function=',
  '<function_calls',
  '<invoke',
  '[TOOL_CALLS]',
  'functools[',
  '<｜tool',
]
const OPENING = new RegExp(`${OPENINGS.map(literal).join('|')}|<\\|[a-z]|(?<=\\n)Action:`, 'g')
/** A stream's end that may be the beginning of one. */
const HALF_OPENED = new RegExp(
  `(?:${[...OPENINGS, '<|'].map(prefixPattern).join('|')}|(?<=\\n)(?:${prefixPattern('Action:')}))$`,
  'g',
)
const BARE = /^\s*(?:\[\s*)?\{\s*"(?:name|tool|tool_name|tool_calls|function|function_name|action|type|id)"/
/** Enough of a text to see whether it is the JSON of a call. */
const ENOUGH = 80

type State = 'beginning' | 'open' | 'in_code' | 'held'

/**
 * Holds back the part of a stream that may be a tool call, so that readers do not see the protocol. What is shown is
 * always a
 * beginning of what is left as the answer's text.
 */
export class TextGate {
  readonly #bare: boolean
  readonly #all: string[] = []
  #length = 0
  #shown = 0
  #state: State = 'beginning'
  /** What came and is not shown, unless it is held for good. */
  #tail = ''
  /** What the tail stands behind: some openings begin a line. */
  #before: '\n' | ' ' = '\n'

  /** @param bare whether JSON of the shape of a call is one, as the whole answer or in a fence of code */
  constructor(bare: boolean) {
    this.#bare = bare
  }

  /** All that came. */
  get all(): string {
    return this.#all.join('')
  }

  /** Takes the next piece, gives what may be shown now. */
  push(piece: string): string {
    this.#all.push(piece)
    this.#length += piece.length
    if (this.#state === 'held') {
      if (this.#length - this.#shown <= MAX_HELD) return ''
      return this.rest(this.all)
    }
    const text = this.#before + this.#tail + piece
    let at = 1
    for (let next = this.#next(text, at); next > 0; next = this.#next(text, at)) at += next
    this.#before = text[at - 1] === '\n' ? '\n' : ' '
    this.#tail = text.slice(at)
    this.#shown += at - 1
    return text.slice(1, at)
  }

  /** What is left to show of the text that the answer has in the end. */
  rest(text: string): string {
    const left = text.slice(this.#shown)
    this.#shown += left.length
    return left
  }

  /** How many signs of a text, from a place on, can be shown; 0 when that is not known yet, or never will be. */
  #next(text: string, at: number): number {
    if (this.#state === 'held') return 0
    if (this.#state === 'beginning') {
      const may = this.#bare ? mayBeCall(text.slice(at)) : 'no'
      if (may !== 'unknown') this.#state = may === 'yes' ? 'held' : 'open'
      if (this.#state !== 'open') return 0
    }
    if (this.#state === 'in_code') {
      const end = text.indexOf('```', at)
      if (end < 0) return Math.max(0, text.length - at - 2)
      this.#state = 'open'
      return end + 3 - at
    }
    const mark = first(OPENING, text, at)
    if (!mark) return (first(HALF_OPENED, text, at)?.index ?? text.length) - at
    if (mark.index > at) return mark.index - at
    const may = mark[0] === '```' ? fenceMayBeCall(text.slice(at), this.#bare) : 'yes'
    if (may === 'yes') this.#state = 'held'
    if (may !== 'no') return 0
    this.#state = 'in_code'
    return 3
  }
}

/** Where a pattern is first found from a place on. */
function first(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

type Possibility = 'yes' | 'no' | 'unknown'

function prefixPattern(word: string): string {
  return Array.from(word, (_, n) => literal(word.slice(0, n + 1))).join('|')
}

function literal(text: string): string {
  return text.replace(/[[\]|]/g, '\\$&')
}

function mayBeCall(text: string): Possibility {
  if (!/^\s*(?:[{[]|$)/.test(text.slice(0, ENOUGH))) return 'no'
  if (BARE.test(text.slice(0, 2 * ENOUGH))) return 'yes'
  return text.length < ENOUGH ? 'unknown' : 'no'
}

function fenceMayBeCall(text: string, bare: boolean): Possibility {
  const line = text.slice(0, ENOUGH).indexOf('\n')
  if (/^```tool_call/.test(text)) return 'yes'
  if (line < 0) return text.length < 20 ? 'unknown' : 'no'
  return bare && /^```(?:json)?\s*$/.test(text.slice(0, line)) ? mayBeCall(text.slice(line)) : 'no'
}
