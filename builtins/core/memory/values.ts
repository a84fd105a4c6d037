import { z } from '#kernel'
import type { AgentMemory, Values } from './contract.ts'
import type { JsonFile } from './files/json-file.ts'
import { idOf } from './ids.ts'

/** The kind of record that holds a value. */
export const KEYED = 'kv'

/** Returns the record id of a key; each key has one record, however often it is set. */
export const keyedId = (key: string) => idOf(`${KEYED}:${key}`)

/** Values as records of an agent's memory, so that searches by words find them too. */
export function rememberedValues(records: AgentMemory): Values {
  return {
    // Earlier versions gave each value a random id.
    get: async key => ((await records.recall(keyedId(key))) ?? (await records.findNamed('key', key)))?.thought,
    set: (key, value, metadata) => records.put(keyedId(key), value, { ...metadata, kind: KEYED, key }),
    async remove(key) {
      let found = await records.forget(keyedId(key))
      for (let old = await records.findNamed('key', key); old; old = await records.findNamed('key', key)) {
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

/** A value in files of earlier versions; one that is not a string is kept as its JSON. */
export const PlainValue = z.unknown().transform(value => (typeof value === 'string' ? value : JSON.stringify(value)))

/** Values in a file of plain JSON. */
export class PlainValues implements Values {
  readonly #file: JsonFile<string>
  readonly #admit: (value: string) => Promise<string>

  /** @param admit returns the part of a value that may be stored; throws when it is blocked */
  constructor(file: JsonFile<string>, admit = async (value: string) => value) {
    this.#file = file
    this.#admit = admit
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#file.read()).get(key)
  }

  async set(key: string, given: string): Promise<void> {
    const value = await this.#admit(given)
    await this.#file.change(values => {
      if (values.get(key) === value) return false
      values.delete(key)
      values.set(key, value)
      return true
    })
  }

  remove(key: string): Promise<boolean> {
    return this.#file.change(values => values.delete(key))
  }

  async entries(limit = Number.POSITIVE_INFINITY): Promise<[string, string][]> {
    return [...(await this.#file.read())].reverse().slice(0, limit)
  }
}
