import type { ServerResponse } from 'node:http'
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { MalformedRequestError, type ProtocolExchange } from '#interfaces/rest/contract'
import type { PluginHandle, Undo } from '#kernel'
import { type McpConfig, type McpOffer, type McpPeer, TooManyMcpSessionsError } from '../contract.ts'
import { Peer } from '../peer.ts'
import { Replay } from './replay.ts'
import { INVALID_REQUEST, PARSE_ERROR } from './rpc.ts'

/** Delay before a disconnected client should reconnect, in milliseconds. */
const RETRY_MS = 1_000
/** Number of hexadecimal digits of a session id; 128 bits cannot be guessed. */
const ID_DIGITS = 32
/** Time after which a client that reads nothing is disconnected, in milliseconds. */
const STALL_MS = 30_000
/** Error codes of the SDK's transports for an unknown session, and for a missing session id. */
const NO_SESSION = -32001
const NO_SESSION_YET = -32000

export interface SessionsParts {
  svc: PluginHandle
  config: McpConfig
  offer: McpOffer
  version: () => Promise<string>
  /** Notifies the client of changes until the returned function is called. */
  serve: (peer: McpPeer) => Undo
}

/** Sessions of the clients over HTTP. Requests have already passed the key, Host and Origin checks of REST. */
export class Sessions {
  readonly #parts: SessionsParts
  /** Open sessions, the most recently used last. */
  readonly #open = new Map<string, Session>()
  /** Number of sessions that are being opened. */
  #opening = 0

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  async answer(exchange: ProtocolExchange): Promise<void> {
    await this.#answer(exchange).catch(error => {
      if (!(error instanceof MalformedRequestError)) throw error
      // An error with a cause means that the body is not JSON at all.
      refuse(exchange.response, 400, error.cause ? PARSE_ERROR : INVALID_REQUEST, error.message)
    })
  }

  async #answer(exchange: ProtocolExchange): Promise<void> {
    const { request, response, body, call } = exchange
    const id = request.headers['mcp-session-id']
    const begins = request.method === 'POST' && id === undefined && methodsIn(body).includes('initialize')
    const session = begins ? undefined : this.#find(id, call.tenant)
    if (!begins && !session) {
      if (id !== undefined) {
        return refuse(response, 404, NO_SESSION, 'There is no such session any more; begin again with initialize.')
      }
      return refuse(response, 400, NO_SESSION_YET, 'The header Mcp-Session-Id is missing; begin with initialize.')
    }
    // Requests are answered with an event stream, and a GET opens one.
    const streams = request.method === 'GET' || (request.method === 'POST' && methodsIn(body, true).length > 0)
    let stopping: Session | undefined = session
    if (streams) exchange.stream(() => void stopping?.close())
    stopping ??= await this.#begin(call.tenant)
    await stopping.answer(exchange)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(session => session.close()))
  }

  /** Returns a session of this tenant; a session of another tenant is treated as unknown. */
  #find(id: string | string[] | undefined, tenant: string): Session | undefined {
    const session = typeof id === 'string' ? this.#open.get(id) : undefined
    if (session?.tenant !== tenant) return undefined
    this.#open.delete(session.id)
    this.#open.set(session.id, session)
    return session
  }

  /**
   * Opens a session, and closes an idle one when there are too many.
   * @throws TooManyMcpSessionsError when all are in use
   */
  async #begin(tenant: string): Promise<Session> {
    const { svc, config, offer, version, serve } = this.#parts
    if (this.#open.size + this.#opening >= config.max_sessions) {
      const idle = [...this.#open.values()].find(session => !session.isBusy)
      if (!idle) throw new TooManyMcpSessionsError({ max: config.max_sessions }, { retryAfter: 5 })
      this.#open.delete(idle.id)
      await idle.close()
    }
    this.#opening++
    try {
      const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js')
      const id = svc.ports.ids.make('mcp', ID_DIGITS)
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        eventStore: new Replay(),
        retryInterval: RETRY_MS,
      })
      const peer = await Peer.connect(transport, { offer, ports: svc.ports, version: await version(), tenant })
      const idle_ms = config.session_idle_s * 1000
      const left = serve(peer)
      const session: Session = new Session({ id, tenant, transport, peer }, svc.clock, idle_ms, () => {
        this.#open.delete(id)
        void left()
      })
      this.#open.set(id, session)
      return session
    } finally {
      this.#opening--
    }
  }
}

interface SessionParts {
  id: string
  tenant: string
  transport: StreamableHTTPServerTransport
  peer: Peer
}

/** One client over HTTP, from its `initialize` until it deletes its session or stays idle too long. */
class Session {
  readonly id: string
  readonly tenant: string
  readonly #parts: SessionParts
  readonly #clock: PluginHandle['clock']
  readonly #idle_ms: number
  readonly #onLeave: () => void
  #answering = 0
  #cancel: Undo | undefined
  #closed = false

  constructor(parts: SessionParts, clock: PluginHandle['clock'], idle_ms: number, onLeave: () => void) {
    this.id = parts.id
    this.tenant = parts.tenant
    this.#parts = parts
    this.#clock = clock
    this.#idle_ms = idle_ms
    this.#onLeave = onLeave
  }

  /** Whether a client waits for an answer, or follows a stream. */
  get isBusy(): boolean {
    return this.#answering > 0
  }

  async answer({ request, response, body }: ProtocolExchange): Promise<void> {
    this.#answering++
    void this.#cancel?.()
    response.once('close', () => {
      this.#answering--
      if (this.#answering === 0 && !this.#closed) {
        void this.#cancel?.()
        this.#cancel = this.#clock.after(this.#idle_ms, () => void this.close())
      }
    })
    this.#letGo(response)
    await this.#parts.transport.handleRequest(request, response, body)
    // The session was deleted, or its first message was not `initialize`.
    if (request.method === 'DELETE' && response.statusCode < 300) await this.close()
    else if (this.#parts.transport.sessionId === undefined) await this.close()
  }

  /** Disconnects a client that stops reading, whose unsent data would be kept for ever. */
  #letGo(response: ServerResponse): void {
    let taken = -1
    let cancel: Undo = () => {}
    const look = () => {
      const now = response.socket?.bytesWritten ?? 0
      if (response.writableNeedDrain && now === taken) {
        response.destroy()
        return
      }
      taken = now
      cancel = this.#clock.after(STALL_MS, look)
    }
    response.once('close', () => void cancel())
    look()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    void this.#cancel?.()
    this.#onLeave()
    await this.#parts.peer.close()
  }
}

/** Answers a request that reaches no session with a JSON-RPC error. */
function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }))
}

/** Returns the methods of the messages in a body; with `onlyRequests`, only of those that expect an answer. */
function methodsIn(body: unknown, onlyRequests = false): unknown[] {
  return [body].flat().flatMap(message => {
    const { method, id } = (message ?? {}) as { method?: unknown; id?: unknown }
    return method !== undefined && (!onlyRequests || id !== undefined) ? [method] : []
  })
}
