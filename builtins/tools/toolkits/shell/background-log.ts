import type { Clock } from '#kernel'
import { gap } from '#lib/output-limit'

/** Maximum number of characters kept of the beginning of unread output, and of its end. */
const KEPT_CHARS = 200_000
/** Time without output after which a process counts as pausing, in milliseconds. */
const PAUSE_MS = 1_000

/** The unread output of a background process. */
export class BackgroundLog {
  #head = ''
  #tail = ''
  /** Number of bytes between head and tail that were not kept. */
  #missing = 0
  /** Number of characters written so far. */
  #written = 0
  #listeners = new Set<() => void>()

  add(text: string): void {
    this.#written += text.length
    const free = KEPT_CHARS - this.#head.length
    this.#head += text.slice(0, free)
    const tail = this.#tail + text.slice(free)
    const extra = Math.max(0, tail.length - KEPT_CHARS)
    this.#tail = tail.slice(extra)
    this.#missing += Buffer.byteLength(tail.slice(0, extra))
    for (const listener of this.#listeners) listener()
  }

  /** Resolves when there is unread output and the process has paused, since a program often writes in small pieces. */
  async waitForPause(clock: Clock, signal: AbortSignal): Promise<void> {
    await this.#waitForOutput(signal)
    for (let before = -1; before !== this.#written && !signal.aborted; ) {
      before = this.#written
      await clock.sleep(PAUSE_MS, signal).catch(() => {})
    }
  }

  async #waitForOutput(signal: AbortSignal): Promise<void> {
    if (this.#head !== '' || signal.aborted) return
    await new Promise<void>(resolve => {
      const finish = () => {
        this.#listeners.delete(finish)
        resolve()
      }
      this.#listeners.add(finish)
      signal.addEventListener('abort', finish, { once: true })
    })
  }

  /** Returns and removes the unread output, with the number of bytes that its middle lacks. */
  take(): { text: string; missing: number } {
    const missing = this.#missing
    const text = missing === 0 ? this.#head + this.#tail : `${this.#head}${gap(`${missing} bytes`)}${this.#tail}`
    this.#head = this.#tail = ''
    this.#missing = 0
    return { text: text.toWellFormed(), missing }
  }
}
