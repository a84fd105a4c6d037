import type { IncomingHttpHeaders } from 'node:http'

/** Methods that change nothing. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Returns whether a request is allowed by its origin. Programs send no origin. A browser's page does, and may change
 * something only when its origin is the server's own or a listed one.
 */
export function mayChange(method: string, headers: IncomingHttpHeaders, listed: readonly string[]): boolean {
  if (SAFE.has(method)) return true
  const { origin, host = '' } = headers
  const site = headers['sec-fetch-site']
  if (origin !== undefined && listed.includes(origin)) return true
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return origin === undefined || isOwn(origin, host)
}

/** Compares an origin with a Host header as parsed URLs, since `http://x:80` and `x` are the same place. */
function isOwn(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: from } = new URL(origin)
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === from && from !== ''
}

/** Returns the CORS headers for a listed origin; none for any other. */
export function corsHeaders(headers: IncomingHttpHeaders, listed: readonly string[]): Record<string, string> {
  if (listed.length === 0) return {}
  const { origin } = headers
  if (origin === undefined || !listed.includes(origin)) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers':
      'ETag, Idempotency-Replayed, Link, Location, Mcp-Session-Id, Retry-After, X-Hidden-Count, X-Notice, X-Request-Id, X-Total-Count',
  }
}

/** Returns the answer to a CORS preflight request of a listed origin; undefined for any other request. */
export function preflight(
  method: string,
  headers: IncomingHttpHeaders,
  listed: readonly string[],
): Record<string, string> | undefined {
  const { origin } = headers
  if (method !== 'OPTIONS' || origin === undefined || !listed.includes(origin)) return undefined
  if (headers['access-control-request-method'] === undefined) return undefined
  return {
    'access-control-allow-methods': 'GET, POST, PATCH, PUT, DELETE',
    'access-control-allow-headers':
      'Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, X-Svc-Key, X-Svc-User',
    'access-control-max-age': '600',
  }
}
