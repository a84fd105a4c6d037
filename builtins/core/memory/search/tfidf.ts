import { termsOf } from './terms.ts'

/** Which documents have a term, and how often: number, times, number, times … */
interface Postings {
  pairs: Uint32Array
  /** Numbers in use, two a document. */
  used: number
  /** Documents of which the text is still there. */
  live: number
}

/** Below this a hit is chance. */
const MIN_SCORE = 0.05
/** Lengths of documents depend on all others; they are taken anew once so large a share of the documents came or went … */
const DRIFT = 0.1
/** … and before each search up to this number of records: that costs less than the search. */
const EXACT = 500

/**
 * An inverted index with TF-IDF weights: share of the term in the document × (ln((n + 1) / (df + 1)) + 1), and the cosine
 * of the angle between document and query (Salton, Wong, Yang: A vector space model for automatic indexing, 1975), in which
 * counts do for shares. Documents are numbered in the order in which they are added. Of two that are as near, the newer
 * comes first.
 */
export class TfIdf {
  readonly #terms = new Map<string, Postings>()
  /** Of each document: 1 / length of its vector; 0 for one that is gone, or has no words. */
  #scales = new Float64Array(64)
  #gone = new Uint8Array(64)
  #count = 0
  #live = 0
  /** Documents that came or went since the lengths were taken. */
  #changes = 0
  // One accumulator for all searches, with the places that were touched, which are cleared after each.
  #scores = new Float64Array(64)
  #touched = new Uint32Array(64)

  get size(): number {
    return this.#live
  }

  /** @returns the document's number */
  add(text: string): number {
    const doc = this.#count++
    this.#live++
    this.#changes++
    if (doc >= this.#gone.length) {
      this.#gone = growArray(this.#gone)
      this.#scales = growArray(this.#scales)
      this.#scores = growArray(this.#scores)
      this.#touched = growArray(this.#touched)
    }
    let square = 0
    for (const [term, times] of countTerms(termsOf(text))) {
      let postings = this.#terms.get(term)
      if (!postings) {
        postings = { pairs: new Uint32Array(4), used: 0, live: 0 }
        this.#terms.set(term, postings)
      }
      if (postings.used === postings.pairs.length) postings.pairs = growArray(postings.pairs)
      postings.pairs[postings.used++] = doc
      postings.pairs[postings.used++] = times
      postings.live++
      square += (times * this.#idf(postings)) ** 2
    }
    this.#scales[doc] = scaleOf(square)
    return doc
  }

  /** @param text what was added under this number */
  remove(doc: number, text: string): void {
    if (this.#gone[doc]) return
    this.#gone[doc] = 1
    this.#scales[doc] = 0
    this.#live--
    this.#changes++
    for (const term of new Set(termsOf(text))) {
      const postings = this.#terms.get(term)
      if (postings) postings.live--
    }
  }

  /** The best documents for a query, best first. @param accept leaves out others */
  search(
    query: string,
    limit: number,
    accept: (doc: number) => boolean = () => true,
  ): { doc: number; score: number }[] {
    if (limit < 1) return []
    if (this.#changes > (this.#live <= EXACT ? 0 : this.#live * DRIFT)) this.#measure()
    const scores = this.#scores
    const touched = this.#touched
    let many = 0
    let square = 0
    for (const [term, times] of countTerms(termsOf(query))) {
      const postings = this.#terms.get(term)
      const idf = postings ? this.#idf(postings) : 1
      square += (times * idf) ** 2
      if (!postings) continue
      const factor = times * idf * idf
      const { pairs, used } = postings
      for (let at = 0; at < used; at += 2) {
        const doc = pairs[at]!
        const sum = scores[doc]!
        if (sum === 0) touched[many++] = doc
        scores[doc] = sum + factor * pairs[at + 1]!
      }
    }
    const scale = scaleOf(square)
    const best: { doc: number; score: number }[] = []
    let bar = MIN_SCORE
    for (let at = 0; at < many; at++) {
      const doc = touched[at]!
      const score = scores[doc]! * this.#scales[doc]! * scale
      scores[doc] = 0
      if (score < bar || !accept(doc)) continue
      const hit = { doc, score }
      let place = best.length
      while (place > 0 && isBefore(hit, best[place - 1]!)) place--
      best.splice(place, 0, hit)
      if (best.length > limit) best.pop()
      if (best.length === limit) bar = Math.max(MIN_SCORE, best[limit - 1]!.score - ROUNDING)
    }
    return best.map(({ doc, score }) => ({ doc, score: Math.min(1, score) }))
  }

  #idf({ live }: Postings): number {
    return Math.log((this.#live + 1) / (live + 1)) + 1
  }

  /** The length of every document under the weights of now; what is gone leaves the lists of its terms. */
  #measure(): void {
    const squares = this.#scores
    for (const [term, postings] of this.#terms) {
      if (postings.live === 0) {
        this.#terms.delete(term)
        continue
      }
      const idf = this.#idf(postings)
      const { pairs, used } = postings
      let kept = 0
      for (let at = 0; at < used; at += 2) {
        const doc = pairs[at]!
        const times = pairs[at + 1]!
        if (this.#gone[doc]) continue
        squares[doc]! += (times * idf) ** 2
        pairs[kept++] = doc
        pairs[kept++] = times
      }
      postings.used = kept
    }
    for (let doc = 0; doc < this.#count; doc++) this.#scales[doc] = scaleOf(squares[doc]!)
    squares.fill(0)
    this.#changes = 0
  }
}

/** How often each term is there. */
function countTerms(terms: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const term of terms) times.set(term, (times.get(term) ?? 0) + 1)
  return times
}

/** Scores that differ by no more are the same. */
const ROUNDING = 1e-12

/** Of two that are as near, the newer goes first. */
function isBefore(one: { doc: number; score: number }, other: { doc: number; score: number }): boolean {
  const difference = one.score - other.score
  return Math.abs(difference) > ROUNDING ? difference > 0 : one.doc > other.doc
}

/** Of a vector's length, given its square. */
function scaleOf(square: number): number {
  return square === 0 ? 0 : 1 / Math.sqrt(square)
}

function growArray<A extends Uint8Array | Uint32Array | Float64Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2)
  larger.set(array)
  return larger
}
