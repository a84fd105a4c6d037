/** Non-ASCII characters are read as two symbols, which keeps the rows of the automaton short. */
const LOW = 16

/**
 * Finds many literals in one pass, ignoring case and treating all digits alike, with an automaton after A. V. Aho and
 * M. J. Corasick, 'Efficient string matching', CACM 1975. Takes one or two lookups per character on any text.
 */
export class Literals {
  /** Symbols of each UTF-16 unit: 0 if no literal has it, else one symbol or two. */
  readonly #symbols = new Uint16Array(0x10000)
  #singles = 1
  #width = 1
  #next = new Uint16Array(0)
  /** Literal that ends in each state, or -1; and the state of the longest suffix at which another literal ends. */
  #ends: Int16Array
  #also: Uint16Array
  /** For each state, the block in which its literal was last reported, numbered across all strings. */
  #visited: Int32Array
  #blocks = 1

  /** @param literals distinct, in lower case, with 0 for each digit */
  constructor(literals: readonly string[]) {
    this.#number(literals)
    const rows: number[][] = [[]]
    const ends = [-1]
    for (const [n, literal] of literals.entries()) {
      let state = 0
      for (const symbol of this.#path(literal)) {
        const row = rows[state] as number[]
        state = row[symbol] ??= rows.push([]) - 1
      }
      ends[state] = n
    }
    this.#ends = Int16Array.from(rows, (_, state) => ends[state] ?? -1)
    this.#also = new Uint16Array(rows.length)
    this.#visited = new Int32Array(rows.length)
    this.#link(rows)
  }

  /** Reports each literal with the block in which it ends, in order, and rarely twice per block. */
  find(text: string, blockSize: number, onLiteral: (literal: number, block: number) => void): void {
    const visited = this.#visited
    const begun = this.#begin(Math.ceil(text.length / blockSize))
    const symbols = this.#symbols
    const next = this.#next
    const ends = this.#ends
    const also = this.#also
    const width = this.#width
    const singles = this.#singles
    const high = singles
    const low = width - LOW
    let state = 0
    for (let at = 0; at < text.length; at++) {
      const symbol = symbols[text.charCodeAt(at)] as number
      if (symbol < singles) state = next[state * width + symbol] as number
      else {
        const rest = symbol - singles
        state = next[state * width + high + ((rest / LOW) | 0)] as number
        state = next[state * width + low + (rest % LOW)] as number
      }
      let end = (ends[state] as number) < 0 ? (also[state] as number) : state
      if (end === 0) continue
      const block = (at / blockSize) | 0
      for (; end > 0 && visited[end] !== begun + block; end = also[end] as number) {
        visited[end] = begun + block
        onLiteral(ends[end] as number, block)
      }
    }
  }

  /** Reserves numbers for the blocks of a text. @returns an offset that makes these numbers unique */
  #begin(blocks: number): number {
    if (this.#blocks + blocks > 0x7fffffff) {
      this.#visited.fill(0)
      this.#blocks = 1
    }
    const begun = this.#blocks
    this.#blocks += blocks
    return begun
  }

  #number(literals: readonly string[]): void {
    const used = [...new Set(literals.join(''))]
    const give = (chars: string[], first: number) => {
      for (const [n, char] of chars.entries()) {
        for (const form of char === '0' ? '0123456789' : [char, char.toUpperCase()]) {
          if (form.length === 1) this.#symbols[form.charCodeAt(0)] = first + n
        }
      }
      return first + chars.length
    }
    this.#singles = give(
      used.filter(char => char < '\u0080'),
      1,
    )
    const wide = used.filter(char => char >= '\u0080')
    give(wide, this.#singles)
    this.#width = this.#singles + Math.ceil(wide.length / LOW) + LOW
  }

  #path(literal: string): number[] {
    return Array.from({ length: literal.length }, (_, n) => this.#symbols[literal.charCodeAt(n)] as number).flatMap(
      symbol => {
        const rest = symbol - this.#singles
        return rest < 0 ? [symbol] : [this.#singles + ((rest / LOW) | 0), this.#width - LOW + (rest % LOW)]
      },
    )
  }

  /** Sets the fallback of each state, level by level: the longest suffix that is also a state. */
  #link(rows: readonly number[][]): void {
    const width = this.#width
    this.#next = new Uint16Array(rows.length * width)
    const fall = new Uint16Array(rows.length)
    const queue = [0]
    for (const state of queue) {
      const back = fall[state] as number
      if (state > 0) {
        this.#next.copyWithin(state * width, back * width, (back + 1) * width)
        this.#also[state] = (this.#ends[back] as number) >= 0 ? back : (this.#also[back] as number)
      }
      rows[state]?.forEach((to, symbol) => {
        fall[to] = state === 0 ? 0 : (this.#next[state * width + symbol] as number)
        this.#next[state * width + symbol] = to
        queue.push(to)
      })
    }
  }
}
