/** So many messages wait to be told; what comes on top is added to the last one. */
const MOST_WAITING = 100
/** Longer texts are cut: what is told is how it goes on, not what comes of it. */
const LONGEST = 4_000

/** Tells progress in order, one message after the other, and lets no more than so much pile up for a slow client. */
export class Progress {
  readonly #send: (progress: number, message: string) => Promise<void>
  readonly #waiting: string[] = []
  #told = 0
  #sending: Promise<void> | undefined

  constructor(send: (progress: number, message: string) => Promise<void>) {
    this.#send = send
  }

  send(message: string): void {
    const last = this.#waiting.length < MOST_WAITING ? '' : this.#waiting.pop()
    this.#waiting.push((last + message).slice(-LONGEST))
    this.#sending ??= this.#drain()
  }

  /** Resolves when all is told: an answer ends its progress. */
  async flush(): Promise<void> {
    await this.#sending
  }

  async #drain(): Promise<void> {
    for (let message = this.#waiting.shift(); message !== undefined; message = this.#waiting.shift()) {
      this.#told++
      await this.#send(this.#told, message).catch(() => {})
    }
    this.#sending = undefined
  }
}
