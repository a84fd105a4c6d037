import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Fetch } from '#kernel'

/** Maximum size of one response, or of one event of a stream, in bytes. */
const LONGEST_MESSAGE = 8 * 1024 * 1024
/** Statuses of a first response with which a server rejects the HTTP transport. */
const OLDER_TRANSPORT_STATUSES = [400, 404, 405]

/**
 * Returns the HTTP transports, the newer one first.
 * @param headers headers of each request
 */
export async function httpTransports(url: string, headers: Record<string, string>, fetch: Fetch) {
  const [{ StreamableHTTPClientTransport }, { SSEClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/client/sse.js'),
  ])
  const options = { requestInit: { headers }, fetch: boundFetch(new URL(url), fetch) }
  return [
    () => new StreamableHTTPClientTransport(new URL(url), options) as Transport & { terminateSession(): Promise<void> },
    (): Transport => new SSEClientTransport(new URL(url), options),
  ]
}

/** Returns whether to try the older transport. */
export function isTransportRefused(error: unknown): boolean {
  return OLDER_TRANSPORT_STATUSES.includes(statusOf(error) ?? 0)
}

/** Returns the HTTP status in an error of the transport. */
export function statusOf(error: unknown): number | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
}

/** Returns a fetch that is limited to the configured origin, follows no redirects, and limits the size of responses. */
function boundFetch({ origin }: URL, fetch: Fetch): Fetch {
  return async (input, init) => {
    const url = new URL(input)
    if (url.origin !== origin) throw new Error(`the server refers to ${url.origin}, but only ${origin} is configured`)
    const response = await fetch(url, { ...init, redirect: 'manual' })
    if (!response.body) return response
    const { status, statusText, headers } = response
    const isStream = headers.get('content-type')?.includes('text/event-stream') ?? false
    return new Response(response.body.pipeThrough(limitStream(isStream)), { status, statusText, headers })
  }
}

const NEWLINE = 0x0a
const RETURN = 0x0d

/** Limits the bytes of a response; in an event stream the count restarts at each empty line. */
function limitStream(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let atLineStart = true
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (isStream) {
        for (let at = 0; at < chunk.length; at++) {
          const isNewline = chunk[at] === NEWLINE
          if (isNewline && atLineStart) bytes = chunk.length - at - 1
          if (chunk[at] !== RETURN) atLineStart = isNewline
        }
      }
      if (bytes > LONGEST_MESSAGE) controller.error(new Error('a message is longer than 8 MiB'))
      else controller.enqueue(chunk)
    },
  })
}
