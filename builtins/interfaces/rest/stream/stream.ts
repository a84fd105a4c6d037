import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { EventMessage, FastifyReply, FastifyRequest } from 'fastify'
import type { PluginHandle } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { type ServerConfig, ServerStoppingError, TooManyStreamsError } from '../contract.ts'
import type { ListenerKind } from '../listener/hosts.ts'
import type { Capacity } from '../listener/open-files.ts'
import { COMMENT, EVENT_STREAM, messageOf } from './frames.ts'

/** Interval of comment lines, for proxies that close silent connections. */
const COMMENT_MS = 15_000
/** Time for a stream's last event when the server stops, in milliseconds; its listener waits a little longer. */
const LAST_EVENT_MS = 250
/** Value of `Retry-After` when there are too many streams, in seconds. */
const RETRY_AFTER_S = 5

export interface StreamParts {
  svc: PluginHandle
  config: ServerConfig
  capacity: () => Capacity
  /** Returns the problem document that is sent for what was thrown. */
  problem: (thrown: unknown, request: FastifyRequest) => unknown
  /** Masks secrets in JSON. */
  hide: (json: string) => string
}

/** All open streams of this process. */
export class Streams {
  readonly #parts: StreamParts
  readonly #open = new Map<{ stop(): void }, ListenerKind>()

  constructor(parts: StreamParts) {
    this.#parts = parts
  }

  /**
   * Answers a request with a stream. Throws errors that occur before the first event.
   * @param begin returns the events; their signal is aborted when the reader has disconnected
   * @throws TooManyStreamsError, ServerStoppingError
   */
  async answer(
    begin: (signal: AbortSignal) => Promise<AsyncIterable<StreamEvent>>,
    listener: ListenerKind,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const source = new EventSource(this.#parts, request)
    this.#hold(source, listener)
    // A reader that disconnects is not an error.
    reply.raw.on('error', () => {})
    const end = () => {
      source.close()
      this.#open.delete(source)
    }
    reply.raw.once('close', end)
    try {
      await source.begin(begin)
    } catch (error) {
      if (source.isClosed) return reply.hijack()
      end()
      throw error
    }
    reply.type(EVENT_STREAM).header('x-accel-buffering', 'no').hijack()
    // The plugin would replace `cache-control`, and answers that may contain secrets could be cached.
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
    reply.sse(source.messages())
    return reply
  }

  /** Counts a stream that is written elsewhere. @throws TooManyStreamsError */
  count(stop: () => void, listener: ListenerKind, response: ServerResponse): void {
    const open = { stop }
    this.#hold(open, listener)
    response.once('close', () => this.#open.delete(open))
  }

  #hold(open: { stop(): void }, listener: ListenerKind): void {
    const { streams: max, limit } = this.#parts.capacity()
    if (this.#open.size >= max) throw new TooManyStreamsError({ max, limit }, { retryAfter: RETRY_AFTER_S })
    this.#open.set(open, listener)
  }

  /** Asks the streams of a listener for their last event, and ends those that send none. */
  stop(listener: ListenerKind): void {
    for (const [open, at] of this.#open) if (at === listener) open.stop()
  }
}

type Step = IteratorResult<StreamEvent>

/**
 * Messages of one stream for `reply.sse`, which pulls them as they are read, does not notice a disconnect, and crashes
 * the process when its source throws. This source therefore never throws, ends by `close` when the response has closed,
 * and disconnects a reader that reads nothing for `stream_stall_s`.
 */
class EventSource {
  isClosed = false
  readonly #parts: StreamParts
  readonly #request: FastifyRequest
  readonly #left = new AbortController()
  #events: AsyncIterator<StreamEvent> | undefined
  #step!: Promise<Step>
  /** First event; undefined when it is late and the response begins without it. */
  #first: Step | undefined
  #hasBegun = false
  #isStopping = false
  #fail: (error: unknown) => void = () => {}
  /** Cancel functions of the running timers. */
  readonly #timers = new Set<() => void>()

  constructor(parts: StreamParts, request: FastifyRequest) {
    this.#parts = parts
    this.#request = request
  }

  /**
   * Resolves with the first event, or when the response begins without one.
   * @throws what the source throws
   */
  async begin(begin: (signal: AbortSignal) => Promise<AsyncIterable<StreamEvent>>): Promise<void> {
    const { signal } = this.#left
    this.#step = begin(signal).then(events => {
      this.#events = events[Symbol.asyncIterator]()
      return signal.aborted ? this.#return() : this.#events.next()
    })
    this.#first = await this.#next()
    this.#hasBegun = true
  }

  /** Yields the messages, beginning with the first event; the next is requested only when the reader wants more. */
  async *messages(): AsyncGenerator<EventMessage> {
    let last: string | undefined
    try {
      for (let step = this.#first; !this.isClosed; step = await this.#next()) {
        if (!step) {
          yield* this.#send({ comment: COMMENT })
        } else if (step.done) {
          // A stream that ends because the server stops is incomplete.
          if (this.#isStopping && last !== 'done' && last !== 'error') throw new ServerStoppingError()
          return
        } else {
          last = step.value.event
          yield* this.#send(messageOf(step.value, this.#parts.hide))
          this.#step = this.#events!.next()
        }
      }
    } catch (thrown) {
      if (this.isClosed) return
      const data = this.#parts.problem(this.#isStopping ? new ServerStoppingError() : thrown, this.#request)
      yield messageOf({ event: 'error', data }, this.#parts.hide)
    }
  }

  /** Asks the source to end soon, because the server stops. */
  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#left.abort(new ServerStoppingError())
    const end = () => this.#fail(new ServerStoppingError())
    if (this.#hasBegun) this.#after(LAST_EVENT_MS, end)
    else end()
  }

  /** Ends the stream after the reader has disconnected or the events have ended. */
  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    for (const cancel of this.#timers) cancel()
    this.#left.abort()
    this.#fail(new Error('the client has disconnected'))
    this.#return().catch(() => {})
  }

  /** Resolves with the next event, or with undefined when none came for `COMMENT_MS`. */
  #next(): Promise<Step | undefined> {
    return new Promise<Step | undefined>((resolve, reject) => {
      this.#fail = reject
      const cancel = this.#after(COMMENT_MS, () => resolve(undefined))
      this.#step.then(resolve, reject).finally(cancel)
    })
  }

  *#send(message: EventMessage): Generator<EventMessage> {
    const { svc, config } = this.#parts
    const cancel = this.#after(config.stream_stall_s * 1000, () => {
      svc.log.info({ request_id: this.#request.id }, 'stream closed because its client reads nothing')
      this.#request.raw.socket.destroy()
    })
    yield message
    cancel()
  }

  /**
   * Starts a timer, which `close` cancels too.
   * @returns a function that cancels the timer
   */
  #after(ms: number, action: () => void): () => void {
    const cancel = this.#parts.svc.clock.after(ms, action)
    this.#timers.add(cancel)
    return () => {
      this.#timers.delete(cancel)
      cancel()
    }
  }

  async #return(): Promise<Step> {
    await this.#events?.return?.()
    return { done: true, value: undefined }
  }
}
