import { createHash } from 'node:crypto'
import { type Clock, errorMessage, type Log, withTimeLimit, z } from '#kernel'
import type { MemoryEmbeddings } from '../contract.ts'
import type { Lines } from '../files/journal.ts'
import { type IndexedRecord, wordsOf } from '../files/records.ts'

/** Maximum number of texts sent at a time, including the query. */
const BATCH = 64
/** Time limit of a request, and the pause after a failed one, in milliseconds. */
const LIMIT_MS = 10_000
const REST_MS = 60_000
/** Default minimum of a cosine; lower ones are random. */
const MIN_SCORE = 0.3
/** A file with more lines than this, of which fewer than half are in use, is rewritten. */
const MIN_WASTE = 1_000

/** A line of the file: the vector that backend `by` made of the text with hash `of`, as base64 of 32-bit floats. */
const Line = z.object({ memory_id: z.string(), by: z.string(), of: z.string(), vector: z.base64() })

/**
 * Embeddings of one agent's records, by document number. They are created when a search needs them, and cached in a
 * file beside the memory; a lost file is created again.
 */
export class VectorIndex {
  readonly #journal: Lines
  readonly #backend: () => MemoryEmbeddings | undefined
  readonly #clock: Clock
  readonly #log: Log
  #vectors = new Map<number, Float32Array>()
  /** Name of the backend that made the vectors. */
  #by = ''
  #loading: Promise<void> | undefined
  #restsUntil = 0
  #filling = false

  constructor(journal: Lines, backend: () => MemoryEmbeddings | undefined, { clock, log }: { clock: Clock; log: Log }) {
    this.#journal = journal
    this.#backend = backend
    this.#clock = clock
    this.#log = log
  }

  reset(): void {
    this.#vectors = new Map()
    this.#by = ''
  }

  remove(doc: number): void {
    this.#vectors.delete(doc)
  }

  /**
   * Returns the vector of a query. The newest records without a vector are embedded in the same request; the rest
   * follows in the background.
   * @returns undefined when the backend gives no answer, so that the search uses words only
   */
  async of(query: string, ask: () => Promise<ReadonlyMap<string, IndexedRecord>>): Promise<Float32Array | undefined> {
    const backend = this.#backend()
    if (!backend || this.#clock.monotonic() < this.#restsUntil) return undefined
    try {
      const records = await ask()
      if (this.#by !== backend.name) {
        this.#loading ??= this.#load(backend.name, records).finally(() => {
          this.#loading = undefined
        })
        await this.#loading
      }
      const [vector] = await this.#embed(backend, [query], records)
      if (this.#waiting(records).length > 0 && !this.#filling) void this.#fill(backend, ask)
      return vector
    } catch (error) {
      this.#rest(backend, error)
      return undefined
    }
  }

  /** Returns the records most similar to a vector, with their cosines. */
  nearest(query: Float32Array, limit: number, accept: (doc: number) => boolean): Map<number, number> {
    const min = this.#backend()?.min_score ?? MIN_SCORE
    const near: [doc: number, score: number][] = []
    for (const [doc, vector] of this.#vectors) {
      const score = dot(query, vector)
      if (score >= min && accept(doc)) near.push([doc, score])
    }
    return new Map(near.sort(([a, one], [b, other]) => other - one || b - a).slice(0, limit))
  }

  /** Returns the newest records without a vector, as many as fit beside a query. */
  #waiting(records: ReadonlyMap<string, IndexedRecord>): IndexedRecord[] {
    if (this.#vectors.size >= records.size) return []
    const found: IndexedRecord[] = []
    for (const record of [...records.values()].reverse()) {
      if (found.length === BATCH - 1) break
      if (!this.#vectors.has(record.doc)) found.push(record)
    }
    return found
  }

  async #fill(backend: MemoryEmbeddings, ask: () => Promise<ReadonlyMap<string, IndexedRecord>>): Promise<void> {
    this.#filling = true
    try {
      for (let records = await ask(); this.#waiting(records).length > 0; records = await ask()) {
        if (this.#backend() !== backend) break
        await this.#embed(backend, [], records)
      }
    } catch (error) {
      this.#rest(backend, error)
    } finally {
      this.#filling = false
    }
  }

  /** @returns vectors of the texts; those of waiting records are requested with them, and stored */
  async #embed(
    backend: MemoryEmbeddings,
    texts: readonly string[],
    records: ReadonlyMap<string, IndexedRecord>,
  ): Promise<Float32Array[]> {
    const held = this.#vectors
    const waiting = this.#waiting(records)
    const all = [...texts, ...waiting.map(wordsOf)]
    const abort = new AbortController()
    const { name } = backend
    const work = backend.embed(all, abort.signal)
    const vectors = await withTimeLimit(this.#clock, LIMIT_MS, `embeddings by ${name}`, work).finally(() =>
      abort.abort(),
    )
    const [size = 0] = vectors.map(({ length }) => length)
    if (vectors.length !== all.length || size === 0 || vectors.some(({ length }) => length !== size))
      throw new TypeError(
        `${name} returned ${vectors.length} vectors for ${all.length} texts, or vectors of different lengths`,
      )
    const units = vectors.map(unitOf)
    const made = waiting.flatMap((record, at) => {
      const vector = units[texts.length + at]
      // Skips records that were forgotten or changed during the request.
      return vector && records.get(record.memory_id) === record ? [{ record, vector }] : []
    })
    for (const { record, vector } of made) held.set(record.doc, vector)
    const lines = made.map(({ record, vector }) => ({
      memory_id: record.memory_id,
      by: name,
      of: hashOf(record),
      vector: Buffer.from(vector.buffer).toString('base64'),
    }))
    if (lines.length > 0) await this.#journal.append(lines)
    return units
  }

  /** Loads stored vectors of unchanged texts. */
  async #load(by: string, records: ReadonlyMap<string, IndexedRecord>): Promise<void> {
    const held = new Map<number, Float32Array>()
    this.#vectors = held
    const lines = new Map<string, z.infer<typeof Line>>()
    let read = 0
    this.#journal.rewind()
    await this.#journal.catchUp(
      value => {
        const line = Line.parse(value)
        read++
        const record = line.by === by ? records.get(line.memory_id) : undefined
        if (!record || hashOf(record) !== line.of) return
        lines.set(line.memory_id, line)
        held.set(record.doc, floatsOf(line.vector))
      },
      () => {},
    )
    if (read > MIN_WASTE && read > 2 * lines.size) await this.#journal.replace(async () => [...lines.values()])
    // Unless the documents were renumbered meanwhile.
    if (this.#vectors === held) this.#by = by
  }

  #rest({ name }: MemoryEmbeddings, error: unknown): void {
    this.#restsUntil = this.#clock.monotonic() + REST_MS
    const problem = `embeddings by ${name} are not available; memories are searched by words only: ${errorMessage(error)}`
    this.#log.warn({}, problem)
  }
}

function hashOf(record: IndexedRecord): string {
  return createHash('sha256').update(wordsOf(record)).digest('base64url').slice(0, 16)
}

/** Scales a vector to length 1; a zero vector stays zero. @throws TypeError for numbers that are not finite */
function unitOf(numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers)
  if (!Number.isFinite(length)) throw new TypeError('a vector contains a value that is not a finite number')
  return Float32Array.from(numbers, number => (length === 0 ? 0 : number / length))
}

function floatsOf(base64: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'))
  return new Float32Array(bytes.buffer)
}

function dot(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[at]!
  return sum
}
