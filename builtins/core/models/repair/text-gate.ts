/** Maximum number of held characters, larger than the limit of an answer, which then applies. */
const MAX_HELD = 1024 * 1024
/** Beginnings of tool calls that can be recognized in a stream; others begin a line. */
const OPENINGS = [
  '```',
  '<tool_call',
  '<function=',
  '<function_calls',
  '<invoke',
  '[TOOL_CALLS]',
  '[TOOL_REQUEST]',
  'functools[',
  '<｜tool',
]
const OPENING = new RegExp(`${OPENINGS.map(literal).join('|')}|<\\|[a-z]|(?<=\\n)Action:`, 'g')
/** Matches an incomplete opening at the end of the stream. */
const HALF_OPENED = new RegExp(
  `(?:${[...OPENINGS, '<|'].map(prefixPattern).join('|')}|(?<=\\n)(?:${prefixPattern('Action:')}))$`,
  'g',
)
const BARE = /^\s*(?:\[\s*)?\{\s*"(?:name|tool|tool_name|tool_calls|function|function_name|action|type|id)"/
/** Number of characters that show whether a text is the JSON of a call. */
const ENOUGH = 80
/** Number of characters in which the name of the first tool ends. */
const MAX_NAME = 200

type State = 'beginning' | 'open' | 'in_code' | 'held'

/**
 * Holds back the part of a stream that may be a tool call, so that readers do not see the protocol. What is shown is
 * always a prefix of the final text.
 */
export class TextGate {
  readonly #bare: readonly string[] | undefined
  readonly #all: string[] = []
  #length = 0
  #shown = 0
  #state: State = 'beginning'
  /** Text that was received but not shown yet. */
  #tail = ''
  /** Character before the tail; some openings must begin a line. */
  #before: '\n' | ' ' = '\n'

  /**
   * @param bare names of the tools where calls without markup count: JSON in the form of a call, as the whole answer or
   * in a code fence, and calls as in Python, as the whole answer
   */
  constructor(bare?: readonly string[]) {
    this.#bare = bare
  }

  /** Everything received. */
  get all(): string {
    return this.#all.join('')
  }

  /** Adds the next piece. @returns the text that may be shown now */
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

  /** Returns the part of the final text that was not shown yet. */
  rest(text: string): string {
    const left = text.slice(this.#shown)
    this.#shown += left.length
    return left
  }

  /** Returns the number of characters that can be shown from a position; 0 if it is unknown yet, or none ever can. */
  #next(text: string, at: number): number {
    if (this.#state === 'held') return 0
    if (this.#state === 'beginning') {
      const may = this.#bare ? mayBegin(text.slice(at), this.#bare) : 'no'
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
    const may = mark[0] === '```' ? fenceMayBeCall(text.slice(at), this.#bare !== undefined) : 'yes'
    if (may === 'yes') this.#state = 'held'
    if (may !== 'no') return 0
    this.#state = 'in_code'
    return 3
  }
}

/** Returns the first match from a position. */
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

/** Returns whether an answer may consist only of calls. */
function mayBegin(text: string, tools: readonly string[]): Possibility {
  const start = text.slice(0, MAX_NAME).replace(/^\s*(?:\[\s*)?/, '')
  const openings = start === '' ? [] : tools.map(name => `${name}(`)
  if (openings.some(opening => start.startsWith(opening))) return 'yes'
  return openings.some(opening => opening.startsWith(start)) ? 'unknown' : mayBeCall(text)
}

function mayBeCall(text: string): Possibility {
  if (!/^\s*(?:[{[]|$)/.test(text.slice(0, ENOUGH))) return 'no'
  if (BARE.test(text.slice(0, 2 * ENOUGH))) return 'yes'
  return text.length < ENOUGH ? 'unknown' : 'no'
}

function fenceMayBeCall(text: string, bare: boolean): Possibility {
  const line = text.slice(0, ENOUGH).indexOf('\n')
  if (/^```tool_c(?:all|ode)/.test(text)) return 'yes'
  if (line < 0) return text.length < 20 ? 'unknown' : 'no'
  return bare && /^```(?:json)?\s*$/.test(text.slice(0, line)) ? mayBeCall(text.slice(line)) : 'no'
}
