import { z } from '#kernel'
import type { AgentMemory, Values } from './contract.ts'
import type { JsonFile } from './files/json-file.ts'
import { idOf } from './ids.ts'

/** The kind of record that holds a value. */
export const KEYED = 'kv'

/** Under which id a value is remembered: each key has one record, however often it is set. */
export const keyedId = (key: string) => idOf(`${KEYED}:${key}`)

/** Values as records of an agent's memory, so that they are found by their words too. */
export function rememberedValues(records: AgentMemory): Values {
  return {
    // Earlier programs gave each value an id of its own.
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

/** A value as files of earlier programs have it: what is no text stands for its JSON. */
export const PlainValue = z.unknown().transform(value => (typeof value === 'string' ? value : JSON.stringify(value)))

/** Values in a file of plain JSON. */
export class PlainValues implements Values {
  readonly #file: JsonFile<string>
  readonly #admit: (value: string) => Promise<string>

  /** @param admit what may be kept of a value; it throws when nothing may */
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
