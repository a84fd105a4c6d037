/** Maximum number of waiting messages; further ones are added to the last. */
const MOST_WAITING = 100
/** Maximum length of a progress message, in characters; longer ones keep only their end. */
const LONGEST = 4_000

/** Sends progress in order, one message after the other, with a bounded queue for a slow client. */
export class Progress {
  readonly #send: (progress: number, message: string) => Promise<void>
  readonly #waiting: string[] = []
  #sent = 0
  #sending: Promise<void> | undefined

  constructor(send: (progress: number, message: string) => Promise<void>) {
    this.#send = send
  }

  send(message: string): void {
    const last = this.#waiting.length < MOST_WAITING ? '' : this.#waiting.pop()
    this.#waiting.push((last + message).slice(-LONGEST))
    this.#sending ??= this.#drain()
  }

  /** Resolves when all messages are sent, because the answer ends the progress. */
  async flush(): Promise<void> {
    await this.#sending
  }

  async #drain(): Promise<void> {
    for (let message = this.#waiting.shift(); message !== undefined; message = this.#waiting.shift()) {
      this.#sent++
      await this.#send(this.#sent, message).catch(() => {})
    }
    this.#sending = undefined
  }
}
