import { type Ports, z } from '#kernel'
import { isoTime } from '../store/contract.ts'
import type { AgentMemory, MemoryHit, MemoryRecord } from './contract.ts'
import type { Journal } from './journal.ts'
import type { Legacy } from './legacy.ts'
import { TfIdf } from './tfidf.ts'

const DAY_MS = 86_400_000

/** A line of the file: a record, an access to one, or that one is forgotten. */
const Line = z.union([
  z.object({
    memory_id: z.string(),
    thought: z.string(),
    metadata: z.record(z.string(), z.unknown()).default({}),
    ts: z.iso.datetime({ offset: true }),
    access_count: z.number().int().default(0),
    last_accessed: z.iso.datetime({ offset: true }).nullable().default(null),
  }),
  z.object({ memory_id: z.string(), accessed: z.string() }),
  z.object({ memory_id: z.string(), forgotten: z.string() }),
])

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
  #turn: Promise<unknown>

  /** @param legacy what is to be taken over before anything else */
  constructor(
    journal: Journal,
    ports: Pick<Ports, 'clock' | 'ids'>,
    legacy: () => Promise<Legacy | undefined> = async () => undefined,
  ) {
    this.#journal = journal
    this.#ports = ports
    this.#turn = this.#takeOver(legacy)
  }

  store(thought: string, metadata: Readonly<Record<string, unknown>> = {}, memory_id?: string): Promise<string> {
    return this.#inTurn(async () => {
      const id = memory_id ?? this.#ports.ids.make('mem', 8)
      if (!this.#records.has(id)) await this.#write([{ memory_id: id, thought, metadata, ts: this.#now() }])
      return id
    })
  }

  search(query: string, top_k = 5): Promise<MemoryHit[]> {
    return this.#inTurn(async () => {
      const hits = this.#find(query, top_k)
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
      const all = [...this.#records.values()]
      return this.#accessed(all.findLast(({ metadata }) => metadata[key] === value))
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

  recent(limit = 5): Promise<MemoryRecord[]> {
    return this.#inTurn(async () => [...this.#records.values()].slice(-limit).reverse().map(shown))
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
      if (await this.#catchUp()) await this.#rewrite(() => true)
      return work()
    })
    this.#turn = done.catch(() => {})
    return done
  }

  #find(query: string, top_k: number): MemoryHit[] {
    return this.#index.search(query, top_k).flatMap(({ doc, score }) => {
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
      },
    )
  }

  #take(value: unknown): void {
    const line = Line.parse(value)
    const known = this.#records.get(line.memory_id)
    if ('accessed' in line) {
      if (!known) return
      known.access_count++
      known.last_accessed = line.accessed
    } else if ('forgotten' in line) {
      if (!known) return
      this.#index.remove(known.doc)
      this.#byDoc[known.doc] = undefined
      this.#records.delete(line.memory_id)
    } else if (!known) {
      const words = Object.values(line.metadata).filter(each => typeof each === 'string')
      const record = { ...line, doc: this.#index.add([line.thought, ...words].join(' ')) }
      this.#records.set(line.memory_id, record)
      this.#byDoc[record.doc] = record
    }
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
