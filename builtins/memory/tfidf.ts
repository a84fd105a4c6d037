import { termsOf } from './terms.ts'

/** How often a term is in which documents, as a share of each one's length. */
interface Postings {
  docs: number[]
  shares: number[]
}

/** Below this a hit is chance. */
const MIN_SCORE = 0.05
/** Lengths of documents depend on all others; they are taken anew once so large a share of the documents came or went. */
const DRIFT = 0.1

/**
 * An inverted index with TF-IDF weights: share of the term in the document × (ln((n + 1) / (df + 1)) + 1), and the cosine
 * of the angle between document and query (Salton, Wong, Yang: A vector space model for automatic indexing, 1975). Documents
 * are numbered in the order in which they are added.
 */
export class TfIdf {
  readonly #terms = new Map<string, Postings>()
  #lengths = new Float64Array(64)
  #gone = new Set<number>()
  #count = 0
  /** Documents that came or went since the lengths were taken. */
  #changes = 0
  // One accumulator for all searches: the touched places are cleared after each.
  #scores = new Float64Array(64)

  get size(): number {
    return this.#count - this.#gone.size
  }

  /** @returns the document's number */
  add(text: string): number {
    const doc = this.#count++
    this.#changes++
    const counts = countsOf(termsOf(text))
    for (const [term, share] of counts) {
      let postings = this.#terms.get(term)
      if (!postings) {
        postings = { docs: [], shares: [] }
        this.#terms.set(term, postings)
      }
      postings.docs.push(doc)
      postings.shares.push(share)
    }
    if (doc >= this.#lengths.length) {
      this.#lengths = grown(this.#lengths)
      this.#scores = grown(this.#scores)
    }
    let square = 0
    for (const [term, share] of counts) square += (share * this.#idf(term)) ** 2
    this.#lengths[doc] = Math.sqrt(square)
    return doc
  }

  remove(doc: number): void {
    this.#gone.add(doc)
    this.#changes++
  }

  /** The best documents for a query, best first. @param accept leaves out others */
  search(
    query: string,
    limit: number,
    accept: (doc: number) => boolean = () => true,
  ): { doc: number; score: number }[] {
    if (this.#changes > this.size * DRIFT) this.#measure()
    const touched: number[] = []
    let square = 0
    for (const [term, share] of countsOf(termsOf(query))) {
      const postings = this.#terms.get(term)
      const weight = share * (postings ? this.#idf(term) : 1)
      square += weight ** 2
      if (!postings) continue
      const factor = weight * this.#idf(term)
      for (let at = 0; at < postings.docs.length; at++) {
        const doc = postings.docs[at] as number
        if (this.#scores[doc] === 0) touched.push(doc)
        this.#scores[doc]! += factor * (postings.shares[at] as number)
      }
    }
    const length = Math.sqrt(square)
    const best: { doc: number; score: number }[] = []
    for (const doc of touched) {
      const score = this.#scores[doc]! / (length * this.#lengths[doc]!)
      this.#scores[doc] = 0
      if (score < MIN_SCORE || this.#gone.has(doc)) continue
      if (best.length === limit && score <= best[limit - 1]!.score) continue
      if (!accept(doc)) continue
      let place = best.length
      while (place > 0 && best[place - 1]!.score < score) place--
      best.splice(place, 0, { doc, score: Math.min(1, score) })
      if (best.length > limit) best.pop()
    }
    return best
  }

  #idf(term: string): number {
    return Math.log((this.size + 1) / ((this.#terms.get(term)?.docs.length ?? 0) + 1)) + 1
  }

  /** The length of every document under the weights of now. */
  #measure(): void {
    this.#lengths.fill(0)
    for (const [term, { docs, shares }] of this.#terms) {
      const idf = this.#idf(term)
      for (let at = 0; at < docs.length; at++) this.#lengths[docs[at] as number]! += ((shares[at] as number) * idf) ** 2
    }
    for (let doc = 0; doc < this.#count; doc++) this.#lengths[doc] = Math.sqrt(this.#lengths[doc]!)
    this.#changes = 0
  }
}

/** The share of each term. */
function countsOf(terms: readonly string[]): Map<string, number> {
  const shares = new Map<string, number>()
  for (const term of terms) shares.set(term, (shares.get(term) ?? 0) + 1 / terms.length)
  return shares
}

function grown(array: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(array.length * 2)
  larger.set(array)
  return larger
}
