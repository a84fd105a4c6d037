/** Seeded random generator (mulberry32) for the corpora. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T
  }

  /**
   * Replaces `#` by a digit, `%` by 1 to 9, `&` by 2 to 9, `@` by a small letter, `^` by a capital, `~` by a
   * hexadecimal digit.
   */
  fill(shape: string): string {
    return shape.replace(/[#%&@^~]/g, sign => {
      if (sign === '@') return String.fromCharCode(this.int(97, 122))
      if (sign === '^') return String.fromCharCode(this.int(65, 90))
      if (sign === '~') return this.int(0, 15).toString(16)
      return String(this.int(sign === '#' ? 0 : sign === '%' ? 1 : 2, 9))
    })
  }

  /** Chooses among alternatives in braces, also nested: `{a|b{c|d}}`. */
  spin(text: string): string {
    let spun = text
    while (/\{[^{}]*\|[^{}]*\}/.test(spun)) {
      spun = spun.replace(/\{([^{}]*\|[^{}]*)\}/g, (_, inside: string) => this.pick(inside.split('|')))
    }
    return spun.replace(/ {2,}/g, ' ').trim()
  }
}
