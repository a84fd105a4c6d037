import { dirname } from 'node:path'
import { errorMessage, z } from '#kernel'
import { lockFile } from '#lib/lock'
import { unlessMissing } from '#lib/unless-code'
import { replaceFile } from '#lib/yaml'
import type { SharedFiles } from '#platform/store/contract'
import { ValuesFullError } from '../contract.ts'
import type { JournalParts } from './journal.ts'

/** Maximum size of all keys and values of a file together, in characters. */
const LARGEST = 1_000_000

/** A JSON file of values by key that is replaced as a whole. An unreadable one is renamed to `.corrupt`. */
export class JsonFile<T> {
  readonly #file: string
  readonly #parts: JournalParts
  readonly #things: z.ZodType<Record<string, T>>
  readonly #elsewhere: { shared: SharedFiles; path: string } | undefined

  /** @param elsewhere storage shared by several machines, which is used instead of the file */
  constructor(
    file: string,
    thing: z.ZodType<T>,
    parts: JournalParts,
    elsewhere?: { shared: SharedFiles; path: string },
  ) {
    this.#elsewhere = elsewhere
    this.#file = file
    this.#parts = parts
    this.#things = z.record(z.string(), thing)
  }

  /** Returns the values in order, the newest last. */
  async read(): Promise<Map<string, T>> {
    const { ports, log } = this.#parts
    if (this.#elsewhere) return this.#parseThings((await this.#readShared())?.text)
    const text = await ports.files.readFile(this.#file, 'utf8').catch(unlessMissing)
    try {
      return this.#parseThings(text ?? '{}')
    } catch (error) {
      const corrupt = `${this.#file}.corrupt`
      log.warn({}, `${this.#file} cannot be read and is renamed to ${corrupt}: ${errorMessage(error)}`)
      await ports.files.rename(this.#file, corrupt).catch(() => {})
      return new Map()
    }
  }

  /**
   * @param change changes the values, and returns whether anything changed
   * @throws ValuesFullError when the file would exceed 1,000,000 characters
   */
  async change(change: (things: Map<string, T>) => boolean): Promise<boolean> {
    const { ports } = this.#parts
    if (this.#elsewhere) return this.#changeShared(change)
    await ports.files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const release = await lockFile(`${this.#file}.lock`, ports)
    try {
      const text = applyChange(await this.read(), change)
      if (text === undefined) return false
      await replaceFile(ports.files, this.#file, text)
      return true
    } finally {
      await release()
    }
  }

  /** When another process has written a newer version first, the change is applied to that one. */
  async #changeShared(change: (things: Map<string, T>) => boolean): Promise<boolean> {
    const { shared, path } = this.#elsewhere!
    for (;;) {
      const found = await this.#readShared()
      const text = applyChange(this.#parseThings(found?.text), change)
      if (text === undefined) return false
      if (await shared.replace(path, text, found?.version ?? 0)) return true
    }
  }

  #readShared() {
    const { shared, path } = this.#elsewhere!
    return shared.read(path)
  }

  #parseThings(text = '{}'): Map<string, T> {
    return new Map(Object.entries(this.#things.parse(JSON.parse(text))))
  }
}

/** Returns the new text of the file; undefined when nothing changed. @throws ValuesFullError */
function applyChange<T>(things: Map<string, T>, change: (things: Map<string, T>) => boolean): string | undefined {
  const before = sizeOf(things)
  if (!change(things)) return undefined
  const size = sizeOf(things)
  if (size > LARGEST && size > before) throw new ValuesFullError({ limit: LARGEST })
  return `${JSON.stringify(Object.fromEntries(things), null, 2)}\n`
}

function sizeOf(things: ReadonlyMap<string, unknown>): number {
  let size = 0
  for (const [key, thing] of things)
    size += key.length + (typeof thing === 'string' ? thing : JSON.stringify(thing)).length
  return size
}
