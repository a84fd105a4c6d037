import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from '@modelcontextprotocol/sdk/types.js'
import { describeIssues, issuesOf, type z } from '#kernel'
import { INVALID_PARAMS } from './rpc.ts'

/** Schemas of requests, by method. */
export type Requests = ReadonlyMap<string, z.ZodType>

/**
 * Wraps a transport: answers requests with wrong parameters with the JSON-RPC error, masks secrets in all output, and
 * tracks open requests.
 */
export class CheckingTransport implements Transport {
  readonly #inner: Transport
  readonly #requests: Requests
  readonly #hide: (json: string) => string
  readonly #running = new Set<RequestId>()
  #idle: (() => void) | undefined
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>

  constructor(inner: Transport, requests: Requests, hide: (json: string) => string) {
    this.#inner = inner
    this.#requests = requests
    this.#hide = hide
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  start(): Promise<void> {
    this.#inner.onclose = () => {
      this.#running.clear()
      this.#idle?.()
      this.onclose?.()
    }
    this.#inner.onerror = error => this.onerror?.(error)
    this.#inner.onmessage = (message, extra) => this.#take(message, extra)
    return this.#inner.start()
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const json = JSON.stringify(message)
    const hidden = this.#hide(json)
    try {
      await this.#inner.send(hidden === json ? message : (JSON.parse(hidden) as JSONRPCMessage), options)
    } finally {
      if (!('method' in message) && message.id !== undefined) this.#finishRequest(message.id)
    }
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  /** Resolves when no request is being answered. */
  async idle(): Promise<void> {
    if (this.#running.size === 0) return
    await new Promise<void>(resolve => {
      this.#idle = resolve
    })
  }

  #take(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if ('method' in message && 'id' in message) {
      this.#running.add(message.id)
      const parsed = this.#requests.get(message.method)?.safeParse(message)
      if (parsed && !parsed.success) {
        const problem = describeIssues(issuesOf(parsed.error))
        const error = { code: INVALID_PARAMS, message: `The request ${message.method} is not valid: ${problem}.` }
        this.send({ jsonrpc: '2.0', id: message.id, error }).catch(failure => this.onerror?.(failure as Error))
        return
      }
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      // A cancelled request is never answered.
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId }
      if (requestId !== undefined) this.#finishRequest(requestId)
    }
    this.onmessage?.(message, extra)
  }

  #finishRequest(id: RequestId): void {
    this.#running.delete(id)
    if (this.#running.size === 0) this.#idle?.()
  }
}
