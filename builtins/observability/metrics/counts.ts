import { errorMessage, type PluginHandle } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { shareCalls } from '#lib/share-calls'
import { Store } from '#platform/store/contract'
import { addCounts, readCounts } from './repository.ts'

/** Maximum time that counts stay only in memory, in milliseconds; these are lost when the process is killed. */
const KEPT_MS = 10_000

/**
 * Counts of events that have no rows in the database. They are added to the store, which all processes of the project
 * share; counts not yet stored are added to what is read.
 */
export class Counts {
  readonly #svc: PluginHandle
  #pending: Record<string, number> = {}
  #written = Number.NEGATIVE_INFINITY
  /** Serializes writes and reads, so that no count is seen twice or missed. */
  readonly #inTurn = keyedMutex()
  /** Reads all counts, by key. */
  readonly read = shareCalls(() => this.#inTurn('', () => this.#read()))

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Adds integers to counts; writes them from time to time. */
  add(more: Readonly<Record<string, number>>): void {
    for (const [key, by] of Object.entries(more)) this.#pending[key] = (this.#pending[key] ?? 0) + by
    if (this.#svc.clock.monotonic() - this.#written > KEPT_MS) void this.flush()
  }

  /** Writes counts that are not yet in the store. After an error they are written later. */
  flush(): Promise<void> {
    this.#written = this.#svc.clock.monotonic()
    return this.#inTurn('', () => this.#write()).catch(error =>
      this.#svc.log.warn({}, `metric counts could not be saved and are saved later: ${errorMessage(error)}`),
    )
  }

  async #write(): Promise<void> {
    const counts = { ...this.#pending }
    if (Object.keys(counts).length === 0) return
    await this.#svc.use(Store).apply([addCounts({ counts })])
    for (const [key, written] of Object.entries(counts)) {
      const left = (this.#pending[key] ?? 0) - written
      if (left === 0) delete this.#pending[key]
      else this.#pending[key] = left
    }
  }

  async #read(): Promise<Record<string, number>> {
    const counts = await readCounts(this.#svc.use(Store))
    for (const [key, more] of Object.entries(this.#pending)) counts[key] = (counts[key] ?? 0) + more
    return counts
  }
}
