import { isForbiddenKey } from '#lib/yaml'
import { Ambiguous, type Repair } from './repairs.ts'
import { readString, type StringPosition } from './strings.ts'

export interface Reading {
  value: unknown
  repairs: Set<Repair>
  /** Position after the value. */
  end: number
}

/** Maximum nesting: deeper than any tool's arguments, and safe for the stack. */
const MAX_DEPTH = 100

const SPACE = /[\s\u00a0\ufeff]*/y
const KEY_WORD = /[\p{L}_$][\p{L}\p{N}_$-]*/uy
const BARE_WORD = /[^\s,{}[\]"'`“”‘’]+/y
const NUMBER = /[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=[\s,}\]/]|$)/y
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
const COMMENT = /\/\/[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//y
const SEPARATOR = /:|=>|=/y

const WORDS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }
const PYTHON: Readonly<Record<string, unknown>> = { True: true, False: false, None: null }

/** Returns the nearly valid JSON at a position; undefined if it cannot be read, or in several ways. */
export function nearJsonAt(text: string, at: number): unknown {
  try {
    return new Reader(text, at).read().value
  } catch (error) {
    if (!(error instanceof Ambiguous)) throw error
    return undefined
  }
}

/**
 * Reads one JSON object or array from nearly valid JSON and reports each repair. Every repair has a single meaning;
 * anything else throws `Ambiguous`. Invents nothing: text cut off within a string or a number, or after a comma, cannot
 * be read. One pass with bounded look-ahead, so linear in the text's length.
 */
export class Reader {
  readonly repairs = new Set<Repair>()
  readonly #text: string
  #at: number

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  /** @throws Ambiguous */
  read(): Reading {
    const value = this.#value('value', 0)
    return { value, repairs: this.repairs, end: this.#at }
  }

  #value(place: StringPosition, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new Ambiguous()
    this.#space()
    const sign = this.#text[this.#at]
    if (sign === '{') return this.#object(depth)
    if (sign === '[') return this.#list(depth)
    if (sign !== undefined && /["'“‘`]/.test(sign)) return this.#string(place)
    return this.#bare()
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#at++
    for (let first = true; ; first = false) {
      this.#space()
      if (this.#closes('}', first)) return object
      const key = this.#key()
      if (isForbiddenKey(key) || Object.hasOwn(object, key)) throw new Ambiguous()
      this.#separator()
      object[key] = this.#value(depth === 0 ? 'value' : 'nested', depth + 1)
      if (this.#follows('}', true)) return object
    }
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = []
    this.#at++
    for (let first = true; ; first = false) {
      this.#space()
      if (this.#closes(']', first)) return list
      list.push(this.#value('item', depth + 1))
      if (this.#follows(']', false)) return list
    }
  }

  /** Returns whether the closing bracket follows instead of a member, after at most one extra comma. */
  #closes(closer: string, first: boolean): boolean {
    if (this.#text[this.#at] !== closer) return false
    if (!first) this.repairs.add('trailing_commas')
    this.#at++
    return true
  }

  /** Returns true at the closing bracket after a member, false if another member follows. */
  #follows(closer: string, keyed: boolean): boolean {
    this.#space()
    const sign = this.#text[this.#at]
    if (sign === closer) {
      this.#at++
      return true
    }
    if (sign === undefined && keyed) {
      // A text that ends after a complete member lacks its closing brackets; an array could have had more items.
      this.repairs.add('missing_closers')
      return true
    }
    if (sign !== ',') {
      if (!keyed || sign !== '"') throw new Ambiguous()
      this.repairs.add('missing_commas')
      return false
    }
    this.#at++
    this.#space()
    while (keyed && this.#text[this.#at] === ',') {
      this.repairs.add('extra_commas')
      this.#at++
      this.#space()
    }
    if (this.#text[this.#at] === undefined) throw new Ambiguous()
    return false
  }

  #key(): string {
    const sign = this.#text[this.#at]
    if (sign !== undefined && /["'“‘]/.test(sign)) return this.#string('key')
    const word = this.#match(KEY_WORD)
    if (!word) throw new Ambiguous()
    this.repairs.add('unquoted_keys')
    return word
  }

  #separator(): void {
    this.#space()
    const sign = this.#match(SEPARATOR)
    if (!sign) throw new Ambiguous()
    if (sign !== ':') this.repairs.add('wrong_separators')
  }

  #string(place: StringPosition): string {
    const { value, end, repairs } = readString(this.#text, this.#at, place)
    for (const repair of repairs) this.repairs.add(repair)
    this.#at = end
    return value
  }

  #bare(): unknown {
    const number = this.#match(NUMBER)
    if (number) return this.#number(number)
    const word = this.#match(BARE_WORD)
    if (!word || this.#at === this.#text.length) {
      // A word at the very end may be cut off; these words cannot be.
      if (word && word in WORDS) return WORDS[word]
      throw new Ambiguous()
    }
    if (word in WORDS) return WORDS[word]
    if (word in PYTHON) {
      this.repairs.add('python_literals')
      return PYTHON[word]
    }
    // A single word of letters is a string without quotes; `NaN` and the like have no meaning in JSON.
    if (!/^\p{L}[\p{L}\p{N}_./@-]*$/u.test(word) || /^(?:NaN|Infinity|undefined|nil|null|true|false)$/i.test(word))
      throw new Ambiguous()
    this.repairs.add('bare_values')
    return word
  }

  #number(written: string): number {
    // More digits may have followed.
    if (this.#at === this.#text.length) throw new Ambiguous()
    if (!JSON_NUMBER.test(written)) {
      this.repairs.add('odd_numbers')
      // 007 may be a name, and 010 may be octal for eight.
      if (/^[-+]?0\d/.test(written)) throw new Ambiguous()
    }
    const value = Number(written.replaceAll('_', ''))
    if (!Number.isFinite(value)) throw new Ambiguous()
    return value
  }

  #space(): void {
    this.#match(SPACE)
    while (this.#text[this.#at] === '/') {
      if (!this.#match(COMMENT)) throw new Ambiguous()
      this.repairs.add('comments')
      this.#match(SPACE)
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }
}
