import { endWithin } from '#lib/text-tokens'

/** Maximum number of characters kept of a process's latest output. */
const KEPT_CHARS = 200_000

/** The unread output of a background process. */
export class BackgroundLog {
  #unread = ''
  #dropped = 0
  #listeners = new Set<() => void>()

  add(text: string): void {
    this.#unread += text
    const extra = this.#unread.length - KEPT_CHARS
    if (extra > 0) {
      this.#unread = this.#unread.slice(extra).replace(/^[\udc00-\udfff]/, '')
      this.#dropped += extra
    }
    for (const listener of this.#listeners) listener()
  }

  /** Resolves when there is unread output. */
  async waitForOutput(signal: AbortSignal): Promise<void> {
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

  /** Returns and removes the unread output: at most `tokens` of it, the newest. */
  take(tokens: number): string {
    const kept = endWithin(this.#unread, tokens)
    const missing = this.#unread.length - kept.length + this.#dropped
    const text = kept.trimEnd()
    this.#unread = ''
    this.#dropped = 0
    return missing > 0 ? `[… ${missing} characters before this are left out …]\n${text}` : text
  }
}
