import { dirname } from 'node:path'
import { lockFile, replaceFile, sentenceOf, z } from '#kernel'
import { type AgentMemory, type Values, ValuesFullError } from './contract.ts'
import { idOf } from './ids.ts'
import type { JournalParts } from './journal.ts'

/** The kind of record that holds a value. */
export const KEYED = 'kv'

/** Under which id a value is remembered: each key has one record, however often it is set. */
export const keyedId = (key: string) => idOf(`${KEYED}:${key}`)

/** Values as records of an agent's memory, so that they are found by their words too. */
export function rememberedValues(records: AgentMemory): Values {
  return {
    // Earlier programs gave each value an id of its own.
    get: async key => ((await records.recall(keyedId(key))) ?? (await records.named('key', key)))?.thought,
    set: (key, value, metadata) => records.put(keyedId(key), value, { ...metadata, kind: KEYED, key }),
    async remove(key) {
      let found = await records.forget(keyedId(key))
      for (let old = await records.named('key', key); old; old = await records.named('key', key)) {
        found = (await records.forget(old.memory_id)) || found
      }
      return found
    },
    async entries(limit = Number.POSITIVE_INFINITY) {
      const found = await records.recent(limit, { only: { kind: KEYED } })
      return found.map(({ metadata, thought }) => [String(metadata.key), thought])
    },
  }
}

/** All keys and values of a file together, in characters. */
const LARGEST = 1_000_000

/** Values in a JSON file that is replaced as a whole. One that cannot be read is set aside. */
export class ValuesFile implements Values {
  readonly #file: string
  readonly #parts: JournalParts
  readonly #admit: (value: string) => Promise<string>

  /** @param admit what may be kept of a value; it throws when nothing may */
  constructor(file: string, parts: JournalParts, admit = async (value: string) => value) {
    this.#file = file
    this.#parts = parts
    this.#admit = admit
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#read()).get(key)
  }

  async set(key: string, given: string): Promise<void> {
    const value = await this.#admit(given)
    await this.#change(values => {
      if (values.get(key) === value) return false
      // The newest is the last.
      values.delete(key)
      values.set(key, value)
      const size = [...values].reduce((sum, [name, text]) => sum + name.length + text.length, 0)
      if (size > LARGEST) throw new ValuesFullError({ limit: LARGEST })
      return true
    })
  }

  remove(key: string): Promise<boolean> {
    return this.#change(values => values.delete(key))
  }

  async entries(limit = Number.POSITIVE_INFINITY): Promise<[string, string][]> {
    return [...(await this.#read())].reverse().slice(0, limit)
  }

  /** @param change says whether anything changed */
  async #change(change: (values: Map<string, string>) => boolean): Promise<boolean> {
    const { ports } = this.#parts
    await ports.files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const release = await lockFile(`${this.#file}.lock`, ports)
    try {
      const values = await this.#read()
      const changed = change(values)
      if (changed)
        await replaceFile(ports.files, this.#file, `${JSON.stringify(Object.fromEntries(values), null, 2)}\n`)
      return changed
    } finally {
      await release()
    }
  }

  async #read(): Promise<Map<string, string>> {
    const { ports, log } = this.#parts
    const text = await ports.files.readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return '{}'
    })
    try {
      const values = Object.entries(z.record(z.string(), z.unknown()).parse(JSON.parse(text)))
      return new Map(values.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]))
    } catch (error) {
      const corrupt = `${this.#file}.corrupt`
      log.warn({}, `${this.#file} is set aside as ${corrupt}: ${sentenceOf(error)}`)
      await ports.files.rename(this.#file, corrupt).catch(() => {})
      return new Map()
    }
  }
}
