import { Readable } from 'node:stream'
import { createParser } from 'eventsource-parser'
import type { Clock } from '#kernel'
import type { Pieces } from '../call/limits.ts'
import { MAX_STREAM_BYTES, tooLarge } from './fetch.ts'

/** Bytes read before yielding to the event loop: an answer may arrive in one burst. */
const BURST_BYTES = 32_768

/**
 * Parses the data of a stream's events (https://html.spec.whatwg.org/multipage/server-sent-events.html). The `openai`
 * package reads a stream through five layers of generators, which for word-sized pieces costs more than the rest of an
 * answer. Created before the answer arrives, so that it adds no latency.
 */
export class EventData<T> {
  readonly #decoder = new TextDecoder()
  readonly #clock: Pick<Clock, 'yield'>
  readonly #read: (data: string) => readonly T[]
  #data: string[] = []
  readonly #events = createParser({ onEvent: event => void this.#data.push(event.data) })
  #bytes = 0

  /** @param read converts the data of one event */
  constructor(clock: Pick<Clock, 'yield'>, read: (data: string) => readonly T[]) {
    this.#clock = clock
    this.#read = read
  }

  /**
   * @param failed converts any error to the one to throw: errors of the stream and of `read`, and the RangeError for a
   * stream above the size limit
   */
  of({ body }: Response, failed: (error: unknown) => unknown): AsyncIterableIterator<T, undefined> {
    if (body instanceof Readable) return new EventReader(this.#clock, body, piece => this.#in(piece), failed)
    return this.#of(body, failed)
  }

  async *#of(
    body: ReadableStream<Uint8Array> | null,
    failed: (error: unknown) => unknown,
  ): AsyncGenerator<T, undefined> {
    try {
      for await (const piece of body ?? []) yield* this.#in(piece)
    } catch (error) {
      throw failed(error)
    }
  }

  *#in(piece: Uint8Array): Generator<T> {
    this.#bytes += piece.length
    if (this.#bytes > MAX_STREAM_BYTES) throw tooLarge(MAX_STREAM_BYTES)
    this.#events.feed(this.#decoder.decode(piece, { stream: true }))
    const data = this.#data
    if (data.length === 0) return
    this.#data = []
    for (const each of data) yield* this.#read(each)
  }
}

type Step<T> = IteratorResult<T, undefined>
const END = { done: true, value: undefined } as const

/** Reads a Node stream by its events, because the stream's own iterator costs several times as much per piece. */
class EventReader<T> implements AsyncIterableIterator<T, undefined>, Pieces<T> {
  readonly #body: Readable
  readonly #failed: (error: unknown) => unknown
  /** Values not pulled yet, and the pull that is waiting for a value. */
  readonly #waiting: T[] = []
  #onValue: ((piece: T) => void) | undefined
  #asking: { resolve: (step: Step<T>) => void; reject: (error: unknown) => void } | undefined
  #end: { error?: unknown } | undefined

  /** @param read converts a piece */
  constructor(
    clock: Pick<Clock, 'yield'>,
    body: Readable,
    read: (piece: Uint8Array) => Iterable<T>,
    failed: (error: unknown) => unknown,
  ) {
    let bytes = 0
    this.#body = body
    this.#failed = failed
    body.on('data', piece => {
      bytes += piece.length
      if (bytes >= BURST_BYTES) {
        bytes = 0
        body.pause()
        void clock.yield().then(() => body.resume())
      }
      try {
        for (const each of read(piece)) this.#notify(each)
      } catch (error) {
        this.#finish({ error })
        body.destroy()
      }
    })
    body.on('end', () => this.#finish({}))
    body.on('error', error => this.#finish({ error }))
    body.on('close', () => this.#finish({ error: new Error('the connection was closed before the end of the answer') }))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step<T>> {
    if (this.#waiting.length > 0) return Promise.resolve({ done: false, value: this.#waiting.shift()! })
    if (!this.#end) return new Promise((resolve, reject) => (this.#asking = { resolve, reject }))
    return 'error' in this.#end ? Promise.reject(this.#failed(this.#end.error)) : Promise.resolve(END)
  }

  each(receive: (piece: T) => void): Promise<void> {
    this.#onValue = receive
    for (const piece of this.#waiting.splice(0)) receive(piece)
    return new Promise((resolve, reject) => {
      this.#asking = { resolve: () => resolve(), reject }
      if (this.#end) this.#finish(this.#end)
    })
  }

  return(): Promise<Step<T>> {
    this.#end ??= {}
    this.#body.destroy()
    return Promise.resolve(END)
  }

  #notify(value: T): void {
    if (this.#end) return
    const asking = this.#asking
    if (this.#onValue) this.#onValue(value)
    else if (asking) {
      this.#asking = undefined
      asking.resolve({ done: false, value })
    } else this.#waiting.push(value)
  }

  /** Ends the stream. Only the first call has an effect. */
  #finish(end: { error?: unknown }): void {
    this.#end ??= end
    const asking = this.#asking
    this.#asking = undefined
    if (asking) 'error' in this.#end ? asking.reject(this.#failed(this.#end.error)) : asking.resolve(END)
  }
}
