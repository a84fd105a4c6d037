import { type Clock, type Ports, z } from '#kernel'
import { isoTime } from '#platform/store/contract'
import type { MemoryHit, MemoryRecord, MetadataFilter, Notes } from './contract.ts'
import type { JsonFile } from './files/json-file.ts'
import { matcherOf, wordsOf } from './files/records.ts'
import { TfIdf } from './search/tfidf.ts'

/** A note as stored in a plain JSON file. */
export const PlainNote = z.object({
  thought: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  ts: z.iso.datetime(),
})
type PlainNote = z.infer<typeof PlainNote>

/**
 * Notes in a plain JSON file, separate from the agent's memory: ranked in the same way, but accesses are not counted.
 */
export class PlainNotes implements Notes {
  readonly #file: JsonFile<PlainNote>
  readonly #ports: { clock: Clock; ids: Ports['ids'] }
  readonly #admit: (thought: string) => Promise<string>

  constructor(
    file: JsonFile<PlainNote>,
    ports: { clock: Clock; ids: Ports['ids'] },
    admit: (thought: string) => Promise<string>,
  ) {
    this.#file = file
    this.#ports = ports
    this.#admit = admit
  }

  async store(text: string, metadata: PlainNote['metadata'] = {}, memory_id?: string): Promise<string> {
    const id = memory_id ?? this.#ports.ids.make('mem', 16)
    await this.#set(id, text, metadata, false)
    return id
  }

  put(memory_id: string, text: string, metadata: PlainNote['metadata'] = {}): Promise<void> {
    return this.#set(memory_id, text, metadata, true)
  }

  async search(query: string, top_k = 5, only?: MetadataFilter): Promise<MemoryHit[]> {
    const records = (await this.#all()).filter(matcherOf(only))
    const index = new TfIdf()
    for (const record of records) index.add(wordsOf(record))
    return index.search(query, top_k).flatMap(({ doc, score }) => {
      const record = records[doc]
      return record ? [{ ...record, score }] : []
    })
  }

  async recall(memory_id: string): Promise<MemoryRecord | undefined> {
    return (await this.#all()).find(record => record.memory_id === memory_id)
  }

  forget(memory_id: string): Promise<boolean> {
    return this.#file.change(notes => notes.delete(memory_id))
  }

  async recent(
    limit = 5,
    { only, offset = 0 }: { only?: MetadataFilter; offset?: number } = {},
  ): Promise<MemoryRecord[]> {
    const found = (await this.#all()).filter(matcherOf(only)).reverse()
    return found.slice(offset, offset + limit)
  }

  async #set(id: string, text: string, metadata: PlainNote['metadata'], replaces: boolean): Promise<void> {
    const thought = await this.#admit(text)
    await this.#file.change(notes => {
      if (notes.has(id) && !replaces) return false
      notes.delete(id)
      notes.set(id, { thought, metadata, ts: isoTime(this.#ports.clock.ms()) })
      return true
    })
  }

  async #all(): Promise<MemoryRecord[]> {
    const notes = [...(await this.#file.read())]
    return notes.map(([memory_id, note]) => ({ memory_id, ...note, access_count: 0, last_accessed: null }))
  }
}
