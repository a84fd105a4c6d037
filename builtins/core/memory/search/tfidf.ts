import { termsOf } from './terms.ts'

/** The documents that contain a term, and its count in each: number, count, number, count … */
interface Postings {
  pairs: Uint32Array
  /** Number of used entries in `pairs`, two per document. */
  used: number
  /** Number of these documents that are not removed. */
  live: number
}

/** Minimum score of a hit; lower ones are random. */
const MIN_SCORE = 0.05
/**
 * Share of added or removed documents after which the lengths of all documents are recomputed, because each depends on
 * all others.
 */
const DRIFT = 0.1
/** Up to this number of records, the lengths are recomputed before each search, which costs less than the search. */
const EXACT = 500

/**
 * An inverted index with TF-IDF weights: share of the term in the document × (ln((n + 1) / (df + 1)) + 1), ranked by
 * the cosine of the angle between document and query (Salton, Wong, Yang: A vector space model for automatic indexing,
 * 1975), for which counts can replace shares. Documents are numbered in the order of their addition. Of two with the
 * same score, the newer comes first.
 */
export class TfIdf {
  readonly #terms = new Map<string, Postings>()
  /** 1 / length of each document's vector; 0 for a removed one, or one without words. */
  #scales = new Float64Array(64)
  #gone = new Uint8Array(64)
  #count = 0
  #live = 0
  /** Number of documents added or removed since the lengths were computed. */
  #changes = 0
  // One accumulator for all searches; only the touched entries are cleared after each.
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

  /** @param text the text that was added under this number */
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

  /** Returns the best documents for a query, best first. @param accept filters the documents */
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

  /** Recomputes the length of every document with current weights, and drops removed ones from the postings. */
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

/** Returns the number of occurrences of each term. */
function countTerms(terms: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const term of terms) times.set(term, (times.get(term) ?? 0) + 1)
  return times
}

/** Score differences up to this count as equal. */
const ROUNDING = 1e-12

/** Orders hits by score; of two equal ones, the newer comes first. */
function isBefore(one: { doc: number; score: number }, other: { doc: number; score: number }): boolean {
  const difference = one.score - other.score
  return Math.abs(difference) > ROUNDING ? difference > 0 : one.doc > other.doc
}

/** Returns 1 / length of a vector, given the square of its length. */
function scaleOf(square: number): number {
  return square === 0 ? 0 : 1 / Math.sqrt(square)
}

function growArray<A extends Uint8Array | Uint32Array | Float64Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2)
  larger.set(array)
  return larger
}
