import type { Clock } from '#kernel'

/** Maximum number of characters kept of a process's latest output. */
const KEPT_CHARS = 200_000
/** Time without output after which a process counts as pausing, in milliseconds. */
const PAUSE_MS = 1_000

/** The unread output of a background process. */
export class BackgroundLog {
  #unread = ''
  #dropped = 0
  /** Number of characters written so far. */
  #written = 0
  #listeners = new Set<() => void>()

  add(text: string): void {
    this.#unread += text
    this.#written += text.length
    const extra = this.#unread.length - KEPT_CHARS
    if (extra > 0) {
      this.#unread = this.#unread.slice(extra).replace(/^[\udc00-\udfff]/, '')
      this.#dropped += extra
    }
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
    if (this.#unread !== '' || signal.aborted) return
    await new Promise<void>(resolve => {
      const done = () => {
        this.#listeners.delete(done)
        resolve()
      }
      this.#listeners.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** Returns and removes the unread output, with the number of characters before it that were not kept. */
  take(): { text: string; dropped: number } {
    const taken = { text: this.#unread, dropped: this.#dropped }
    this.#unread = ''
    this.#dropped = 0
    return taken
  }
}
