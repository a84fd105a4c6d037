import { isDeepStrictEqual } from 'node:util'
import { type Ports, z } from '#kernel'
import { isoTime } from '../store/contract.ts'
import type { AgentMemory, MemoryHit, MemoryRecord, Only } from './contract.ts'
import type { Journal } from './journal.ts'
import type { Legacy } from './legacy.ts'
import { TfIdf } from './tfidf.ts'

const DAY_MS = 86_400_000
/** A file with more lines than this, and so many for each record, is written anew. */
const MIN_WASTE = 1_000
const LINES_PER_RECORD = 4

/** A line of the file: a record, an access to one, or that one is forgotten. */
const Line = z.union([
  z.object({
    memory_id: z.string(),
    thought: z.string(),
    metadata: z.record(z.string(), z.unknown()).default({}),
    ts: z.iso.datetime({ offset: true }),
    access_count: z.number().int().default(0),
    last_accessed: z.iso.datetime({ offset: true }).nullable().default(null),
    replaces: z.boolean().default(false),
  }),
  z.object({ memory_id: z.string(), accessed: z.string() }),
  z.object({ memory_id: z.string(), forgotten: z.string() }),
])

export interface MemoriesOptions {
  /** What may be stored of a thought; it throws when nothing may. */
  admit?: (thought: string) => Promise<string>
  /** What is to be taken over before anything else. */
  legacy?: () => Promise<Legacy | undefined>
}

interface Kept extends MemoryRecord {
  doc: number
}

/** The memory of one agent: its file, and the index of what stands there. */
export class Memories implements AgentMemory {
  readonly #journal: Journal
  readonly #ports: Pick<Ports, 'clock' | 'ids'>
  #records = new Map<string, Kept>()
  #byDoc: (Kept | undefined)[] = []
  #index = new TfIdf()
  /** Of the file. */
  #lines = 0
  readonly #admit: (thought: string) => Promise<string>
  #turn: Promise<unknown>

  constructor(journal: Journal, ports: Pick<Ports, 'clock' | 'ids'>, { admit, legacy }: MemoriesOptions = {}) {
    this.#journal = journal
    this.#ports = ports
    this.#admit = admit ?? (async thought => thought)
    this.#turn = legacy ? this.#takeOver(legacy) : Promise.resolve()
    // Whoever comes first hears of it.
    this.#turn.catch(() => {})
  }

  /** How many records are held, as far as they have been read. */
  get size(): number {
    return this.#records.size
  }

  async store(said: string, metadata: Metadata = {}, memory_id?: string): Promise<string> {
    const thought = await this.#admit(said)
    return this.#inTurn(async () => {
      const id = memory_id ?? this.#ports.ids.make('mem', 8)
      if (!this.#records.has(id)) await this.#write([{ memory_id: id, thought, metadata, ts: this.#now() }])
      return id
    })
  }

  async put(memory_id: string, said: string, metadata: Metadata = {}): Promise<void> {
    const thought = await this.#admit(said)
    await this.#inTurn(async () => {
      const known = this.#records.get(memory_id)
      if (known?.thought === thought && isDeepStrictEqual(known.metadata, metadata)) return
      await this.#write([{ memory_id, thought, metadata, ts: this.#now(), replaces: true }])
    })
  }

  search(query: string, top_k = 5, only?: Only): Promise<MemoryHit[]> {
    return this.#inTurn(async () => {
      const hits = this.#find(query, top_k, only)
      await this.#access(hits)
      // As they were found, and not as the search has left them.
      return hits
    })
  }

  look(query: string, top_k: number): Promise<MemoryHit[]> {
    return this.#inTurn(async () => this.#find(query, top_k))
  }

  peek(memory_id: string): Promise<MemoryRecord | undefined> {
    return this.#inTurn(async () => {
      const record = this.#records.get(memory_id)
      return record && shown(record)
    })
  }

  recall(memory_id: string): Promise<MemoryRecord | undefined> {
    return this.#inTurn(() => this.#accessed(this.#records.get(memory_id)))
  }

  named(key: string, value: string): Promise<MemoryRecord | undefined> {
    return this.#inTurn(() => {
      const [newest] = this.#newest({ [key]: value })
      return this.#accessed(newest)
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
      let gone = 0
      await this.#rewrite(({ ts, access_count }) => {
        const stays = Date.parse(ts) >= since || access_count >= min_access
        if (!stays) gone++
        return stays
      })
      return gone
    })
  }

  recent(limit = 5, { only, offset = 0 }: { only?: Only; offset?: number } = {}): Promise<MemoryRecord[]> {
    return this.#inTurn(async () => {
      const found: MemoryRecord[] = []
      let skip = offset
      for (const record of this.#newest(only)) {
        if (found.length >= limit) break
        if (skip-- <= 0) found.push(shown(record))
      }
      return found
    })
  }

  count(): Promise<number> {
    return this.#inTurn(async () => this.#records.size)
  }

  async #takeOver(read: () => Promise<Legacy | undefined>): Promise<void> {
    const legacy = await read()
    if (!legacy) return
    await this.#catchUp()
    const ts = this.#now()
    const fresh = legacy.records.filter(({ memory_id }) => !this.#records.has(memory_id))
    if (fresh.length > 0) await this.#write(fresh.map(record => ({ ...record, ts })))
    await legacy.done()
  }

  /** One after the other, each with all that was written before. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(async () => {
      const broken = await this.#catchUp()
      // Accesses are lines too: a file of few records that are used much grows with each.
      const wasteful = this.#lines > MIN_WASTE && this.#lines > this.#records.size * LINES_PER_RECORD
      if (broken || wasteful) await this.#rewrite(() => true)
      return work()
    })
    this.#turn = done.catch(() => {})
    return done
  }

  /** Newest first: documents are numbered in the order in which they came. */
  *#newest(only?: Only): Generator<Kept> {
    for (let doc = this.#byDoc.length - 1; doc >= 0; doc--) {
      const record = this.#byDoc[doc]
      if (record && isOf(record, only)) yield record
    }
  }

  #find(query: string, top_k: number, only?: Only): MemoryHit[] {
    const accept = only && ((doc: number) => isOf(this.#byDoc[doc], only))
    return this.#index.search(query, top_k, accept).flatMap(({ doc, score }) => {
      const record = this.#byDoc[doc]
      return record ? [{ ...shown(record), score }] : []
    })
  }

  #catchUp(): Promise<boolean> {
    return this.#journal.catchUp(
      value => this.#take(value),
      () => {
        this.#records = new Map()
        this.#byDoc = []
        this.#index = new TfIdf()
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
      known.access_count++
      known.last_accessed = line.accessed
    } else if ('forgotten' in line) {
      if (known) this.#remove(known)
    } else if (!known || line.replaces) {
      if (known) this.#remove(known)
      this.#add(line, known)
    }
  }

  #remove({ memory_id, doc }: Kept): void {
    this.#index.remove(doc)
    this.#byDoc[doc] = undefined
    this.#records.delete(memory_id)
  }

  /** @param before what it takes the place of */
  #add({ replaces: _, ...line }: MemoryRecord & { replaces: boolean }, before?: Kept): void {
    const used = before && { access_count: before.access_count, last_accessed: before.last_accessed }
    const record = { ...line, ...used, doc: this.#index.add(wordsOf(line)) }
    this.#records.set(line.memory_id, record)
    this.#byDoc[record.doc] = record
  }

  /** Written and read back, so that there is one way in. */
  async #write(lines: readonly z.input<typeof Line>[]): Promise<void> {
    await this.#journal.append(lines)
    await this.#catchUp()
  }

  async #rewrite(stays: (record: MemoryRecord) => boolean): Promise<void> {
    await this.#journal.replace(async () => {
      await this.#catchUp()
      return [...this.#records.values()].map(shown).filter(stays)
    })
    await this.#catchUp()
  }

  async #accessed(record: Kept | undefined): Promise<MemoryRecord | undefined> {
    if (!record) return undefined
    await this.#access([record])
    return shown(record)
  }

  async #access(records: readonly MemoryRecord[]): Promise<void> {
    const accessed = this.#now()
    if (records.length > 0) await this.#write(records.map(({ memory_id }) => ({ memory_id, accessed })))
  }

  #now(): string {
    return isoTime(this.#ports.clock.ms())
  }
}

function shown({ doc: _, ...record }: Kept): MemoryRecord {
  return record
}

type Metadata = Readonly<Record<string, unknown>>

function isOf(record: Kept | undefined, only: Only | undefined): boolean {
  return record !== undefined && Object.entries(only ?? {}).every(([key, value]) => record.metadata[key] === value)
}

/** What a record is found by: its thought and the texts of its metadata, of which ids say nothing. */
function wordsOf({ thought, metadata }: MemoryRecord): string {
  const words = Object.entries(metadata).filter(([key, value]) => typeof value === 'string' && !key.endsWith('_id'))
  return [thought, ...words.map(([, value]) => value)].join(' ')
}
