import { isDeepStrictEqual } from 'node:util'
import type { Ports, z } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { isoTime } from '#platform/store/contract'
import { Accesses } from './accesses.ts'
import type { AgentMemory, MemoryHit, MemoryRecord, MetadataFilter } from './contract.ts'
import type { Lines } from './files/journal.ts'
import type { Legacy } from './files/legacy.ts'
import { type IndexedRecord, Line, matcherOf, toRecord, wordsOf } from './files/records.ts'
import { TfIdf } from './search/tfidf.ts'
import type { VectorIndex } from './search/vector-index.ts'

const DAY_MS = 86_400_000
/** A file is rewritten above this number of lines in total and per record. */
const MIN_WASTE = 1_000
const LINES_PER_RECORD = 4
/** Number of candidates by words and by meaning for each requested record; the best of them are returned. */
const CANDIDATES = 4

export interface MemoriesOptions {
  /** Returns the part of a thought that may be stored; throws when it is blocked. */
  admit?: (thought: string) => Promise<string>
  /** Returns data to import before any other operation. */
  legacy?: () => Promise<Legacy | undefined>
  /** Index by meaning, where a plugin provides embeddings. */
  meanings?: VectorIndex
}

/** The memory of one agent: its file, and the index of its records. */
export class Memories implements AgentMemory {
  readonly #journal: Lines
  readonly #ports: Pick<Ports, 'clock' | 'ids'>
  readonly #accesses: Accesses
  readonly #meanings: VectorIndex | undefined
  #records = new Map<string, IndexedRecord>()
  #byDoc: (IndexedRecord | undefined)[] = []
  #index = new TfIdf()
  /** Number of lines in the file. */
  #lines = 0
  readonly #admit: (thought: string) => Promise<string>
  #turn: Promise<unknown>

  constructor(journal: Lines, ports: Pick<Ports, 'clock' | 'ids'>, { admit, legacy, meanings }: MemoriesOptions = {}) {
    this.#journal = journal
    this.#ports = ports
    this.#meanings = meanings
    // Only access counts are lost when this write fails.
    this.#accesses = new Accesses(ports.clock, () => void this.flush().catch(() => {}))
    this.#admit = admit ?? (async thought => thought)
    this.#turn = legacy ? this.#takeOver(legacy) : Promise.resolve()
    // The next caller gets the error, so that it is not unhandled here.
    this.#turn.catch(() => {})
  }

  /** Number of records read so far. */
  get size(): number {
    return this.#records.size
  }

  async store(text: string, metadata: Metadata = {}, memory_id?: string): Promise<string> {
    const thought = await this.#admit(text)
    return this.#inTurn(async () => {
      const id = memory_id ?? this.#ports.ids.make('mem', 16)
      if (!this.#records.has(id)) await this.#write([{ memory_id: id, thought, metadata, ts: this.#now() }])
      return id
    })
  }

  async put(memory_id: string, text: string, metadata: Metadata = {}): Promise<void> {
    const thought = await this.#admit(text)
    await this.#inTurn(async () => {
      const known = this.#records.get(memory_id)
      if (known?.thought === thought && isDeepStrictEqual(known.metadata, metadata)) return
      await this.#write([{ memory_id, thought, metadata, ts: this.#now(), replaces: true }])
    })
  }

  async search(query: string, top_k = 5, only?: MetadataFilter, except?: MetadataFilter): Promise<MemoryHit[]> {
    const hits = await this.#find(query, top_k, only, except)
    // The hits are returned with their counts from before this search.
    this.#accesses.add(hits, this.#now())
    return hits
  }

  look(query: string, top_k: number, except?: MetadataFilter): Promise<MemoryHit[]> {
    return this.#find(query, top_k, undefined, except)
  }

  peek(memory_id: string): Promise<MemoryRecord | undefined> {
    return this.#inTurn(async () => {
      const record = this.#records.get(memory_id)
      return record && this.#toRecord(record)
    })
  }

  recall(memory_id: string): Promise<MemoryRecord | undefined> {
    return this.#inTurn(async () => this.#recordAccess(this.#records.get(memory_id)))
  }

  findNamed(key: string, value: string): Promise<MemoryRecord | undefined> {
    return this.#inTurn(async () => {
      const [newest] = this.#newest({ [key]: value })
      return this.#recordAccess(newest)
    })
  }

  forget(memory_id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#records.has(memory_id)) return false
      await this.#write([{ memory_id, forgotten: this.#now() }])
      return true
    })
  }

  consolidate(max_age_days: number, min_access: number): Promise<number> {
    return this.#inTurn(async () => {
      const since = this.#ports.clock.ms() - max_age_days * DAY_MS
      const before = this.#records.size
      await this.#rewrite(({ ts, access_count }) => Date.parse(ts) >= since || access_count >= min_access)
      return before - this.#records.size
    })
  }

  recent(limit = 5, { only, offset = 0 }: { only?: MetadataFilter; offset?: number } = {}): Promise<MemoryRecord[]> {
    return this.#inTurn(async () => {
      const found: MemoryRecord[] = []
      let skip = offset
      for (const record of this.#newest(only)) {
        if (found.length >= limit) break
        if (skip-- <= 0) found.push(this.#toRecord(record))
      }
      return found
    })
  }

  count(): Promise<number> {
    return this.#inTurn(async () => this.#records.size)
  }

  async take(records: readonly MemoryRecord[]): Promise<void> {
    const admitted: MemoryRecord[] = []
    for (const record of records) admitted.push({ ...record, thought: await this.#admit(record.thought) })
    await this.#inTurn(async () => {
      const fresh = admitted.filter(({ memory_id }) => !this.#records.has(memory_id))
      if (fresh.length > 0) await this.#write(fresh)
    })
  }

  /** Writes pending access counts now instead of within a second. */
  async flush(): Promise<void> {
    if (this.#accesses.waiting) await this.#inTurn(() => this.#write([]))
  }

  /** Discards pending access counts of a deleted agent, so that no file is written for it. */
  drop(): void {
    this.#accesses.take()
  }

  async #takeOver(read: () => Promise<Legacy | undefined>): Promise<void> {
    const legacy = await read()
    if (!legacy) return
    await this.#catchUp()
    const ts = this.#now()
    const fresh = legacy.records.filter(({ memory_id }) => !this.#records.has(memory_id))
    if (fresh.length > 0) await this.#write(fresh.map(record => ({ ts, ...record })))
    await legacy.markStored()
  }

  /** Runs one operation after another, each after reading what was written before. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(async () => {
      const broken = await this.#catchUp()
      // Accesses are lines too, so a file of few but often used records grows with each.
      const wasteful = this.#lines > MIN_WASTE && this.#lines > this.#records.size * LINES_PER_RECORD
      if (broken || wasteful) await this.#rewrite(() => true)
      return work()
    })
    this.#turn = done.catch(() => {})
    return done
  }

  /** Yields the newest first: documents are numbered in the order of their addition. */
  *#newest(only?: MetadataFilter): Generator<IndexedRecord> {
    const matches = matcherOf(only)
    for (let doc = this.#byDoc.length - 1; doc >= 0; doc--) {
      const record = this.#byDoc[doc]
      if (record && matches(record)) yield record
    }
  }

  /** Searches by words; and, where vectors are available, by meaning: the mean of both cosines. */
  async #find(query: string, top_k: number, only?: MetadataFilter, except?: MetadataFilter): Promise<MemoryHit[]> {
    const isWanted = matcherOf(only)
    const isExcepted = except ? matcherOf(except) : () => false
    const accept = (doc: number) => {
      const record = this.#byDoc[doc]
      return record !== undefined && isWanted(record) && !isExcepted(record)
    }
    // Called outside the queue, so that no other operation waits for the network.
    const matches = await this.#meanings?.of(query, () => this.#inTurn(async () => this.#records))
    return this.#inTurn(async () => {
      const meanings = matches && this.#meanings?.nearest(matches, top_k * CANDIDATES, accept)
      const hits = meanings ? this.#both(query, top_k, accept, meanings) : this.#index.search(query, top_k, accept)
      return hits.flatMap(({ doc, score }) => {
        const record = this.#byDoc[doc]
        return record ? [{ ...this.#toRecord(record), score }] : []
      })
    })
  }

  #both(query: string, top_k: number, accept: (doc: number) => boolean, near: ReadonlyMap<number, number>) {
    const words = this.#index.search(query, top_k * CANDIDATES, accept)
    const docs = new Set([...near.keys(), ...words.map(({ doc }) => doc)])
    const byWords = new Map(
      this.#index.search(query, docs.size, doc => docs.has(doc)).map(({ doc, score }) => [doc, score]),
    )
    const meanOf = (doc: number) => ((byWords.get(doc) ?? 0) + (near.get(doc) ?? 0)) / 2
    return [...docs]
      .map(doc => ({ doc, score: meanOf(doc) }))
      .sort((a, b) => b.score - a.score || b.doc - a.doc)
      .slice(0, top_k)
  }

  #catchUp(): Promise<boolean> {
    return this.#journal.catchUp(
      value => this.#take(value),
      () => {
        this.#records = new Map()
        this.#byDoc = []
        this.#index = new TfIdf()
        this.#meanings?.reset()
        this.#lines = 0
      },
    )
  }

  #take(value: unknown): void {
    const line = Line.parse(value)
    this.#lines++
    const known = this.#records.get(line.memory_id)
    if ('accessed' in line) {
      if (!known) return
      known.access_count += line.times
      known.last_accessed = line.accessed
    } else if ('forgotten' in line) {
      if (known) this.#remove(known)
    } else if (!known || line.replaces) {
      if (known) this.#remove(known)
      this.#add(line, known)
    }
  }

  #remove(record: IndexedRecord): void {
    const { memory_id, doc } = record
    this.#index.remove(doc, wordsOf(record))
    this.#meanings?.remove(doc)
    this.#byDoc[doc] = undefined
    this.#records.delete(memory_id)
  }

  /** @param before the record that it replaces */
  #add({ replaces: _, ...line }: MemoryRecord & { replaces: boolean }, before?: IndexedRecord): void {
    const used = before && { access_count: before.access_count, last_accessed: before.last_accessed }
    const record = { ...line, ...used, doc: this.#index.add(wordsOf(line)) }
    this.#records.set(line.memory_id, record)
    this.#byDoc[record.doc] = record
  }

  /** Writes lines together with pending accesses, and applies each as if it had been read from the file. */
  async #write(lines: readonly z.input<typeof Line>[]): Promise<void> {
    const accesses = this.#accesses.take().filter(({ memory_id }) => this.#records.has(memory_id))
    if (accesses.length + lines.length === 0) return
    await this.#journal.append([...accesses, ...lines], value => this.#take(value))
    // A torn line that this write completed counts as broken now.
    if (await this.#catchUp()) await this.#rewrite(() => true)
  }

  async #rewrite(stays: (record: MemoryRecord) => boolean): Promise<void> {
    await this.#write([])
    let going: IndexedRecord[] = []
    await this.#journal.replace(async () => {
      await this.#catchUp()
      going = [...this.#records.values()].filter(record => !stays(record))
      const gone = new Set(going)
      return [...this.#records.values()].filter(record => !gone.has(record)).map(toRecord)
    })
    for (const record of going) this.#remove(record)
    this.#lines = this.#records.size
    // Numbers of removed records take space in the index: once there are many, all are renumbered.
    if (this.#byDoc.length > 2 * this.#records.size + MIN_WASTE) this.#journal.rewind()
    await this.#catchUp()
  }

  #recordAccess(record: IndexedRecord | undefined): MemoryRecord | undefined {
    if (!record) return undefined
    this.#accesses.add([record], this.#now())
    return this.#toRecord(record)
  }

  #toRecord(record: IndexedRecord): MemoryRecord {
    return this.#accesses.withAccesses(toRecord(record))
  }

  #now(): string {
    return isoTime(this.#ports.clock.ms())
  }
}

type Metadata = Readonly<Record<string, unknown>>

withEarlierNames(Memories.prototype, { named: 'findNamed' })
