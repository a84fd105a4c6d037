import { dirname } from 'node:path'
import { lockFile, replaceFile, sentenceOf, z } from '#kernel'
import { ValuesFullError } from './contract.ts'
import type { JournalParts } from './journal.ts'

/** All keys and values of a file together, in characters. */
const LARGEST = 1_000_000

/** A JSON file of things by key that is replaced as a whole. One that cannot be read is set aside. */
export class JsonFile<T> {
  readonly #file: string
  readonly #parts: JournalParts
  readonly #things: z.ZodType<Record<string, T>>

  constructor(file: string, thing: z.ZodType<T>, parts: JournalParts) {
    this.#file = file
    this.#parts = parts
    this.#things = z.record(z.string(), thing)
  }

  /** The newest is the last. */
  async read(): Promise<Map<string, T>> {
    const { ports, log } = this.#parts
    const text = await ports.files.readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return '{}'
    })
    try {
      return new Map(Object.entries(this.#things.parse(JSON.parse(text))))
    } catch (error) {
      const corrupt = `${this.#file}.corrupt`
      log.warn({}, `${this.#file} is set aside as ${corrupt}: ${sentenceOf(error)}`)
      await ports.files.rename(this.#file, corrupt).catch(() => {})
      return new Map()
    }
  }

  /**
   * @param change says whether anything changed
   * @throws ValuesFullError for what would make the file larger than 1,000,000 characters
   */
  async change(change: (things: Map<string, T>) => boolean): Promise<boolean> {
    const { ports } = this.#parts
    await ports.files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const release = await lockFile(`${this.#file}.lock`, ports)
    try {
      const things = await this.read()
      const before = sizeOf(things)
      if (!change(things)) return false
      const size = sizeOf(things)
      if (size > LARGEST && size > before) throw new ValuesFullError({ limit: LARGEST })
      await replaceFile(ports.files, this.#file, `${JSON.stringify(Object.fromEntries(things), null, 2)}\n`)
      return true
    } finally {
      await release()
    }
  }
}

function sizeOf(things: ReadonlyMap<string, unknown>): number {
  let size = 0
  for (const [key, thing] of things)
    size += key.length + (typeof thing === 'string' ? thing : JSON.stringify(thing)).length
  return size
}
