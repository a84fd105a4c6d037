import { crc32 } from 'node:zlib'
import type { RecordedQuestion } from '#lib/recording-context'

/** Multiplier that makes the digest depend on the order of parts. */
const PRIME = 31

/**
 * Computes digests of requests, by which a replay checks that the same was requested again. CRC-32 finds accidental
 * differences at a tenth of the cost of SHA-1: it runs for every answer of a model.
 */
export class Digester {
  readonly #mask: (text: string) => string
  readonly #known = new WeakMap<object, number>()

  /** @param mask removes the values of secrets from a string */
  constructor(mask: (text: string) => string) {
    this.#mask = mask
  }

  of(question: RecordedQuestion): number {
    let sum = 0
    for (const each of question) sum = (Math.imul(sum, PRIME) + this.#ofOne(each)) >>> 0
    return sum
  }

  /** A conversation is sent again at each step, so digests of its messages are cached. */
  #ofOne(part: RecordedQuestion[number]): number {
    if (typeof part === 'string') return crc32(this.#mask(part))
    let sum = this.#known.get(part)
    if (sum === undefined) {
      let text = ''
      for (const [name, value] of Object.entries(part)) {
        // Long strings are not encoded as JSON, which would cost more than everything else.
        if (value !== undefined) text += `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}\n`
      }
      sum = crc32(this.#mask(text))
      this.#known.set(part, sum)
    }
    return sum
  }
}
