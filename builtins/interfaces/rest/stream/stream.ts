import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PluginHandle } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { type ServerConfig, ServerStoppingError, TooManyStreamsError } from '../contract.ts'
import type { ListenerKind } from '../listener/hosts.ts'
import type { Capacity } from '../listener/open-files.ts'
import { COMMENT, EVENT_STREAM, frame } from './frames.ts'

/** A comment line goes out this often, for proxies that close what is silent. */
const COMMENT_MS = 15_000
/** How long a stream may take to say its last when the server stops; its listener waits a little longer. */
const LAST_WORDS_MS = 250
/** Seconds after which to ask again for one more stream. */
const RETRY_AFTER_S = 5

export interface StreamParts {
  svc: PluginHandle
  config: ServerConfig
  capacity: () => Capacity
  /** What goes out instead of what was thrown. */
  problem: (thrown: unknown, request: FastifyRequest) => unknown
  /** Takes secrets out of JSON. */
  hide: (json: string) => string
}

/** All streams of this process that are open. */
export class Streams {
  readonly #parts: StreamParts
  readonly #open = new Map<{ stop(): void }, ListenerKind>()

  constructor(parts: StreamParts) {
    this.#parts = parts
  }

  /**
   * Answers a request with a stream. Throws what it throws before its first event.
   * @param begin gives the events; their signal is aborted when the reader has left
   * @throws TooManyStreamsError, ServerStoppingError
   */
  async answer(
    begin: (signal: AbortSignal) => Promise<AsyncIterable<StreamEvent>>,
    listener: ListenerKind,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const open: OpenStream = new OpenStream(this.#parts, request, () => this.#open.delete(open))
    this.#hold(open, listener)
    reply.raw.once('close', () => open.destroy())
    await open.begin(begin)
    if (open.destroyed) return reply.hijack()
    return reply.type(EVENT_STREAM).header('x-accel-buffering', 'no').send(open)
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

  /** Has the streams of a listener say their last, and ends those that don't. */
  stop(listener: ListenerKind): void {
    for (const [open, at] of this.#open) if (at === listener) open.stop()
  }
}

/**
 * The bytes of one stream. Events are pulled as they are read: more than `stream_buffer_bytes` never wait for a slow
 * reader, and one that reads nothing for `stream_stall_s` is disconnected. However it ends, the source is notified at
 * once.
 */
class OpenStream extends Readable {
  readonly #parts: StreamParts
  readonly #request: FastifyRequest
  readonly #gone = new AbortController()
  readonly #onLeave: () => void
  #events: AsyncIterator<StreamEvent> | undefined
  /** The event that was awaited before the answer began. */
  #first: Promise<IteratorResult<StreamEvent>> | undefined
  #pulling = false
  #stopping = false
  #over = false
  /** Its last event has gone out. */
  #hasEndEvent = false
  #cancelStall: (() => void) | undefined
  #cancelTimer = () => {}

  constructor(parts: StreamParts, request: FastifyRequest, onLeave: () => void) {
    super({ highWaterMark: parts.config.stream_buffer_bytes })
    this.#parts = parts
    this.#request = request
    this.#onLeave = onLeave
    // A reader that went away is no fault of the process.
    this.on('error', () => {})
  }

  /** Resolves with the first event, or when it is so late that the answer begins without. @throws what the source throws */
  async begin(begin: (signal: AbortSignal) => Promise<AsyncIterable<StreamEvent>>): Promise<void> {
    const { clock } = this.#parts.svc
    const { signal } = this.#gone
    let late = () => {}
    const waited = new Promise<boolean>(resolve => {
      late = () => resolve(false)
    })
    signal.addEventListener('abort', late, { once: true })
    const cancel = clock.after(COMMENT_MS, late)
    try {
      const first = begin(signal).then(events => {
        this.#events = events[Symbol.asyncIterator]()
        // The reader has left: the source learns that from the signal, and is not begun.
        return signal.aborted ? this.#leave() : this.#events.next()
      })
      first.catch(() => {})
      this.#first = first
      const came = await Promise.race([first.then(() => true), waited])
      if (this.#stopping) throw new ServerStoppingError()
      if (!came && !this.destroyed) this.push(COMMENT)
    } catch (error) {
      this.destroy()
      throw error
    } finally {
      cancel()
      signal.removeEventListener('abort', late)
    }
    if (!this.destroyed) this.#comment()
  }

  override _read(): void {
    this.#cancelStall?.()
    this.#cancelStall = undefined
    if (!this.#pulling) void this.#pull()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#cancelStall?.()
    this.#cancelTimer()
    this.#onLeave()
    this.#gone.abort()
    this.#leave().catch(() => {})
    callback(error)
  }

  /** The server stops: what runs may end in its own way, but soon. */
  stop(): void {
    if (this.#stopping) return
    this.#stopping = true
    this.#gone.abort(new ServerStoppingError())
    this.#cancelTimer()
    this.#cancelTimer = this.#parts.svc.clock.after(LAST_WORDS_MS, () => this.#fail(new ServerStoppingError()))
  }

  async #pull(): Promise<void> {
    this.#pulling = true
    try {
      for (;;) {
        const step = await (this.#first ?? this.#events!.next())
        this.#first = undefined
        if (this.#over || this.destroyed) return
        // One that ends because the server does has not come to its end.
        if (step.done) return this.#stopping && !this.#hasEndEvent ? this.#fail(new ServerStoppingError()) : this.#end()
        this.#hasEndEvent = step.value.event === 'done' || step.value.event === 'error'
        if (!this.push(frame(step.value, this.#parts.hide))) return this.#stall()
      }
    } catch (error) {
      this.#fail(this.#stopping ? new ServerStoppingError() : error)
    } finally {
      this.#pulling = false
    }
  }

  /** One `error` event, and no more. */
  #fail(error: unknown): void {
    if (this.#over || this.destroyed) return
    const { problem, hide } = this.#parts
    this.push(frame({ event: 'error', data: problem(error, this.#request) }, hide))
    this.#end()
  }

  #end(): void {
    this.#over = true
    this.#cancelTimer()
    this.push(null)
  }

  #stall(): void {
    const { svc, config } = this.#parts
    this.#cancelStall = svc.clock.after(config.stream_stall_s * 1000, () => {
      svc.log.info({ request_id: this.#request.id }, 'a stream was let go: its reader takes nothing')
      this.#request.raw.socket.destroy()
    })
  }

  #comment(): void {
    this.#cancelTimer = this.#parts.svc.clock.after(COMMENT_MS, () => {
      if (!this.#cancelStall) this.push(COMMENT)
      this.#comment()
    })
  }

  async #leave(): Promise<IteratorResult<StreamEvent>> {
    await this.#events?.return?.()
    return { done: true, value: undefined }
  }
}
