import { Readable } from 'node:stream'
import { createParser } from 'eventsource-parser'
import { MAX_STREAM_BYTES, tooLarge } from './fetch.ts'

/**
 * What the data of a stream's events mean, one after another
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). The `openai` package reads a stream through five layers of
 * generators, which for pieces as small as words costs more than all the rest of an answer. It is made before the answer comes:
 * nobody waits for that then.
 */
export class EventData<T> {
  readonly #decoder = new TextDecoder()
  readonly #read: (data: string) => readonly T[]
  #data: string[] = []
  readonly #events = createParser({ onEvent: event => void this.#data.push(event.data) })
  #bytes = 0

  /** @param read what the data of one event mean */
  constructor(read: (data: string) => readonly T[]) {
    this.#read = read
  }

  /**
   * Tells all that a stream brings, as it comes, and closes it.
   * @throws what reading it throws, what `read` and `tell` throw, and a RangeError where it is larger than any answer can be
   */
  async of({ body }: Response, tell: (value: T) => void): Promise<void> {
    if (body instanceof Readable) return heard(body, piece => this.#in(piece, tell))
    for await (const piece of body ?? []) this.#in(piece, tell)
  }

  #in(piece: Uint8Array, tell: (value: T) => void): void {
    this.#bytes += piece.length
    if (this.#bytes > MAX_STREAM_BYTES) throw tooLarge(MAX_STREAM_BYTES)
    this.#events.feed(this.#decoder.decode(piece, { stream: true }))
    const data = this.#data
    if (data.length === 0) return
    this.#data = []
    for (const each of data) for (const value of this.#read(each)) tell(value)
  }
}

/** Hears a stream of Node's to its end; its own iterator costs several times as much for each piece. */
function heard(body: Readable, hear: (piece: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    body.on('data', piece => {
      if (body.destroyed) return
      try {
        hear(piece)
      } catch (error) {
        reject(error)
        body.destroy()
      }
    })
    body.on('end', resolve)
    body.on('error', reject)
    body.on('close', () => reject(new Error('the connection was closed before the end of the answer')))
  })
}
