import { Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import { pipeline, Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Fetch } from '#kernel'
import { isStream } from './fetch.ts'

/** For so long a connection waits for its next request, in milliseconds: servers that say nothing of it wait for 5 s or longer. */
const KEPT_MS = 4_000
/** For so long a connection may take to be made, in milliseconds, as with the platform's `fetch`. */
const CONNECT_MS = 10_000
const kept = {
  http: new HttpAgent({ keepAlive: true, timeout: KEPT_MS }),
  https: new HttpsAgent({ keepAlive: true, timeout: KEPT_MS }),
}

/** Encodings that some proxies add without being asked. */
const DECODERS = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/**
 * A `fetch` for requests whose answers come in many small pieces: over Node's own HTTP a stream costs half of what it does
 * through the streams of the platform's `fetch`, whose first use takes some 9 MB and 70 ms besides. The `body` of a stream of events is Node's, to be read by iterating over it.
 * Any `fetch` but the machine's own is asked as it is.
 */
export function fetchInPieces(fetch: Fetch): Fetch {
  if (!fetch.direct) return fetch
  return async (url, init = {}) => {
    init.signal?.throwIfAborted()
    const incoming = await request(url, init)
    const { statusCode: status = 0 } = incoming
    // Redirects are the platform's business.
    if (status >= 300 && status < 400) {
      incoming.destroy()
      return fetch(url, init)
    }
    return responseOf(incoming, status)
  }
}

/** Resolves with the head of the answer. */
function request(url: string | URL, init: RequestInit): Promise<IncomingMessage> {
  const { method = 'GET', signal, body = null } = init
  const headers = Object.fromEntries(new Headers(init.headers))
  const options = { method, headers, timeout: CONNECT_MS }
  const isSecure = String(url).startsWith('https:')
  return new Promise((resolve, reject) => {
    let leave = () => void asking.destroy()
    const respond = (incoming: IncomingMessage) => {
      // Without an error: where all has come, Node lets the connection go and hears of no error of it any more.
      leave = () => void incoming.destroy()
      // The reader gets the error; without a reader it is ignored.
      resolve(incoming.on('error', () => {}))
    }
    const asking = isSecure
      ? overHttps(url, { ...options, agent: kept.https }, respond)
      : overHttp(url, { ...options, agent: kept.http }, respond)
    asking.on('error', (error: NodeJS.ErrnoException) => {
      // A kept connection that its server had closed meanwhile: the request never arrived, and goes out anew.
      const isStale = asking.reusedSocket && error.code === 'ECONNRESET' && !signal?.aborted
      if (isStale) request(url, init).then(resolve, reject)
      else reject(error)
    })
    // Nothing came for so long; how long a server may think is its callers' business.
    asking.on('timeout', () => {
      if (!asking.socket?.connecting) return
      const problem = `no connection within ${CONNECT_MS / 1000} s`
      asking.destroy(Object.assign(new Error(problem), { code: 'CONNECT_TIMEOUT' }))
    })
    signal?.addEventListener('abort', () => leave(), { once: true })
    asking.end(body)
  })
}

function responseOf(incoming: IncomingMessage, status: number): Response {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(incoming.headersDistinct))
    for (const value of values) headers.append(name, value)
  const decoder = DECODERS.get(headers.get('content-encoding')?.toLowerCase() ?? '')?.()
  // The reader gets the error.
  const read = decoder ? pipeline(incoming, decoder, () => {}) : incoming
  const ok = status >= 200 && status < 300
  // A refusal is read as a whole, whatever type it names.
  if (!ok || !isStream({ headers })) {
    const body = status === 204 || status === 205 ? null : (Readable.toWeb(read) as ReadableStream)
    return new Response(body, { status, statusText: incoming.statusMessage ?? '', headers })
  }
  return { ok, status, headers, body: read } as unknown as Response
}
