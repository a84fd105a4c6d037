import type { Clock } from '#kernel'
import type { MemoryRecord } from './contract.ts'

/** Maximum delay before accesses are written, unless another write includes them, in milliseconds. */
const WAIT_MS = 1_000

/** Counts accesses that are not written yet, so that a search need not wait for a write. */
export class Accesses {
  readonly #clock: Clock
  readonly #due: () => void
  #counts = new Map<string, { times: number; accessed: string }>()
  #cancel: (() => void) | undefined

  /** @param due called when accesses have waited for `WAIT_MS` */
  constructor(clock: Clock, due: () => void) {
    this.#clock = clock
    this.#due = due
  }

  get waiting(): boolean {
    return this.#counts.size > 0
  }

  add(records: readonly MemoryRecord[], accessed: string): void {
    for (const { memory_id } of records) {
      const times = (this.#counts.get(memory_id)?.times ?? 0) + 1
      this.#counts.set(memory_id, { times, accessed })
    }
    if (this.waiting) this.#cancel ??= this.#clock.after(WAIT_MS, this.#due)
  }

  /** Returns a record with its pending accesses added. */
  withAccesses(record: MemoryRecord): MemoryRecord {
    const waiting = this.#counts.get(record.memory_id)
    if (!waiting) return record
    return { ...record, access_count: record.access_count + waiting.times, last_accessed: waiting.accessed }
  }

  /** Removes and returns all pending accesses, as lines. */
  take(): { memory_id: string; times: number; accessed: string }[] {
    const lines = [...this.#counts].map(([memory_id, counts]) => ({ memory_id, ...counts }))
    this.#counts = new Map()
    this.#cancel?.()
    this.#cancel = undefined
    return lines
  }
}
