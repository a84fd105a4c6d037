import { Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import { pipeline, Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Fetch } from '#kernel'
import { isStream } from './fetch.ts'

/**
 * Time an idle connection is kept for the next request, in milliseconds. Servers that announce no limit keep it for 5 s
 * or longer.
 */
const KEPT_MS = 4_000
/** Time limit for opening a connection, in milliseconds, as in the platform's `fetch`. */
const CONNECT_MS = 10_000
const kept = {
  http: new HttpAgent({ keepAlive: true, timeout: KEPT_MS }),
  https: new HttpsAgent({ keepAlive: true, timeout: KEPT_MS }),
}

/** Decoders for encodings that some proxies add unrequested. */
const DECODERS = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/**
 * Returns a `fetch` for answers that arrive in many small pieces. Node's own HTTP halves the cost of a stream compared
 * with the platform's `fetch`, whose first use also takes about 9 MB and 70 ms. The `body` of an event stream is a Node
 * stream, to be read by iteration. A custom `fetch` is called unchanged.
 */
export function streamingFetch(fetch: Fetch): Fetch {
  if (!fetch.direct) return fetch
  return async (url, init = {}) => {
    init.signal?.throwIfAborted()
    const incoming = await request(url, init)
    const { statusCode: status = 0 } = incoming
    // Redirects are left to the platform's `fetch`.
    if (status >= 300 && status < 400) {
      incoming.destroy()
      return fetch(url, init)
    }
    return responseOf(incoming, status)
  }
}

/** Sends a request. Resolves with the response's headers; its body is read later. */
function request(url: string | URL, init: RequestInit): Promise<IncomingMessage> {
  const { method = 'GET', signal, body = null } = init
  const headers = Object.fromEntries(new Headers(init.headers))
  const options = { method, headers, timeout: CONNECT_MS }
  const isSecure = String(url).startsWith('https:')
  return new Promise((resolve, reject) => {
    let leave = () => void asking.destroy()
    const respond = (incoming: IncomingMessage) => {
      // Destroyed without an error: once everything has arrived, Node releases the connection and no longer reports
      // errors for it.
      leave = () => void incoming.destroy()
      // The reader gets the error; without a reader it is ignored.
      resolve(incoming.on('error', () => {}))
    }
    const asking = isSecure
      ? overHttps(url, { ...options, agent: kept.https }, respond)
      : overHttp(url, { ...options, agent: kept.http }, respond)
    asking.on('error', (error: NodeJS.ErrnoException) => {
      // The server had closed the kept connection: the request never arrived and is sent again.
      const isStale = asking.reusedSocket && error.code === 'ECONNRESET' && !signal?.aborted
      if (isStale) request(url, init).then(resolve, reject)
      else reject(error)
    })
    // The timeout covers only the connection; callers limit how long a server may think.
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
  // An error response is read completely, regardless of its content type.
  if (!ok || !isStream({ headers })) {
    const body = status === 204 || status === 205 ? null : (Readable.toWeb(read) as ReadableStream)
    return new Response(body, { status, statusText: incoming.statusMessage ?? '', headers })
  }
  return { ok, status, headers, body: read } as unknown as Response
}
