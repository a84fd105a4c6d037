import { Readable } from 'node:stream'
import { createParser } from 'eventsource-parser'
import { MAX_STREAM_BYTES, tooLarge } from './fetch.ts'

type Step = IteratorResult<string[], undefined>
const END: Step = { done: true, value: undefined }

/**
 * The data of a stream's events, those that came together at once
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). The `openai` package reads a stream through five layers of
 * generators, which for pieces as small as words costs more than all the rest of an answer. It is made before the answer comes:
 * nobody waits for that then.
 */
export class EventData {
  readonly #decoder = new TextDecoder()
  #data: string[] = []
  readonly #events = createParser({ onEvent: event => void this.#data.push(event.data) })
  #bytes = 0

  /** @throws RangeError when it is larger than any answer can be, and what reading throws */
  of({ body }: Response): AsyncIterable<string[]> {
    if (body instanceof Readable) return new Heard(body, piece => this.#dataIn(piece))
    return this.#read(body)
  }

  async *#read(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string[], void> {
    if (!body) return
    for await (const piece of body) {
      const data = this.#dataIn(piece)
      if (data.length > 0) yield data
    }
  }

  #dataIn(piece: Uint8Array): string[] {
    this.#bytes += piece.length
    if (this.#bytes > MAX_STREAM_BYTES) throw tooLarge(MAX_STREAM_BYTES)
    this.#events.feed(this.#decoder.decode(piece, { stream: true }))
    const data = this.#data
    if (data.length > 0) this.#data = []
    return data
  }
}

/** What a stream of Node's brings, as it comes; its own iterator costs several times as much for each piece. */
class Heard implements AsyncIterableIterator<string[], undefined> {
  readonly #body: Readable
  /** What nobody has asked for yet, and whoever asked before it came. */
  #data: string[] = []
  #asking: { resolve: (step: Step) => void; reject: (error: unknown) => void } | undefined
  #end: { error?: unknown } | undefined

  /** @param dataIn what a piece holds */
  constructor(body: Readable, dataIn: (piece: Uint8Array) => string[]) {
    this.#body = body
    body.on('data', piece => {
      try {
        this.#tell(dataIn(piece))
      } catch (error) {
        this.#ended({ error })
        body.destroy()
      }
    })
    body.on('end', () => this.#ended({}))
    body.on('error', error => this.#ended({ error }))
    body.on('close', () => this.#ended({ error: new Error('the connection was closed before the end of the answer') }))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    if (this.#data.length > 0) {
      const value = this.#data
      this.#data = []
      return Promise.resolve({ done: false, value })
    }
    if (!this.#end) return new Promise((resolve, reject) => (this.#asking = { resolve, reject }))
    return 'error' in this.#end ? Promise.reject(this.#end.error) : Promise.resolve(END)
  }

  return(): Promise<Step> {
    this.#end ??= {}
    this.#body.destroy()
    return Promise.resolve(END)
  }

  #tell(data: string[]): void {
    if (this.#end || data.length === 0) return
    const asking = this.#asking
    this.#asking = undefined
    if (asking) asking.resolve({ done: false, value: data })
    else this.#data.push(...data)
  }

  /** The first that is told of its end counts. */
  #ended(end: { error?: unknown }): void {
    this.#end ??= end
    const asking = this.#asking
    this.#asking = undefined
    if (asking) 'error' in this.#end ? asking.reject(this.#end.error) : asking.resolve(END)
  }
}
