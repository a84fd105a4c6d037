import { errorMessage, type PluginHandle, token } from '#kernel'
import { newestSeq, Store } from '#platform/store/contract'

/** Interval between reads of the end of the log while a reader waits for it, in milliseconds. */
const POLL_MS = 50

export const OwnTail = token<Tail>('events/tail')

/**
 * Waits for new events, for any number of readers with one timer and one query. Polls the database instead of listening
 * in the process, so that events of other processes arrive as fast.
 */
export class Tail {
  readonly #svc: PluginHandle
  readonly #waiting = new Map<() => void, number>()
  #isPolling = false
  #closed = false

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Whether waiting has ended for good; readers that follow the log in this process then stop. */
  get isClosed(): boolean {
    return this.#closed
  }

  close(): void {
    this.#closed = true
    this.wake()
  }

  /** Ends all waits, for a reason other than an event. */
  wake(): void {
    for (const wake of [...this.#waiting.keys()]) wake()
  }

  /** Resolves when there is an event after `seq`, with the next `wake`, or as soon as the signal is aborted or this is closed. */
  wait(seq: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#closed) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      signal.addEventListener('abort', wake, { once: true })
      this.#waiting.set(wake, seq)
      if (!this.#isPolling) void this.#poll()
    })
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    while (this.#waiting.size > 0) {
      await this.#svc.clock.sleep(POLL_MS)
      const newest = await this.#newest()
      for (const [wake, seq] of [...this.#waiting]) if (seq < newest) wake()
    }
    this.#isPolling = false
  }

  /** Returns the newest seq; 0 when it cannot be read now, so that readers keep waiting. */
  async #newest(): Promise<number> {
    try {
      return await newestSeq(this.#svc.use(Store))
    } catch (error) {
      this.#svc.log.debug({}, `the end of the log cannot be read: ${errorMessage(error)}`)
      return 0
    }
  }
}
