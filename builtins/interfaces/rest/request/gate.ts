import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PluginHandle } from '#kernel'
import { ForbiddenHostError, ForbiddenOriginError, MalformedRequestError, type ServerConfig } from '../contract.ts'
import { isOwnHost, type ListenerKind } from '../listener/hosts.ts'
import type { Keys } from '../listener/keys.ts'
import { corsHeaders, mayChange, preflight } from './origins.ts'

/** Headers of every answer: data is not cached, not sniffed as another type, and not embedded. */
const SAFETY = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const MARK = /^[\x21-\x7e]{1,200}$/
const MARKED = { 'idempotency-key': 'Idempotency-Key', 'last-event-id': 'Last-Event-ID' }
/** Number of remembered Host headers. */
const REMEMBERED = 100
const TENANT = /^[A-Za-z0-9._@-]{1,128}$/

/**
 * Checks a request before its body is read: Host, origin, key, and that the route exists. Whether a key is needed
 * depends on the matched route, never on the text of the URL.
 * @returns false when the request has been answered already
 */
export function admit(
  svc: PluginHandle,
  config: ServerConfig,
  keys: Keys,
  listener: ListenerKind,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean {
  const { method, headers, raw } = request
  reply.headers(SAFETY).header('x-request-id', request.id)

  const { host = '' } = headers
  if (host === '' || isRepeated('host', raw.rawHeaders)) {
    reply.header('connection', 'close')
    throw new MalformedRequestError({ problem: 'A request must have exactly one Host header.' })
  }
  // A proxy that reads the second header would see a different key than this server.
  if (isRepeated('x-svc-key', raw.rawHeaders)) {
    throw new MalformedRequestError({ problem: 'A request must not have more than one X-Svc-Key header.' })
  }
  if (!listener.local && !config.api_key && !listener.accepted.has(host)) {
    const insecure = svc.ports.env.SVC_API_ALLOW_INSECURE === '1'
    if (!isOwnHost(host, listener, config.allowed_hosts, insecure)) throw new ForbiddenHostError({ host })
    if (listener.accepted.size < REMEMBERED) listener.accepted.add(host)
  }

  reply.headers(corsHeaders(headers, config.cors_origins))
  const answer = preflight(method, headers, config.cors_origins)
  if (answer) {
    reply.code(204).headers(answer).send()
    return false
  }
  if (!mayChange(method, headers, config.cors_origins)) {
    throw new ForbiddenOriginError({ origin: headers.origin ?? 'another site' })
  }

  if (config.api_key && !listener.local && !request.routeOptions.config?.open) {
    const given = raw.headersDistinct['x-svc-key']?.[0]
    keys.check(config.api_key, given, request.ip, headers.authorization !== undefined)
  }
  return true
}

/** Returns whether a header was sent more than once; for some headers, Node keeps only the first. */
function isRepeated(name: string, rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.toLowerCase() === name) count++
  return count > 1
}

/**
 * Returns the user of a request. This is a hint for routing, not a security boundary.
 * @throws MalformedRequestError
 */
export function tenantOf({ headers }: FastifyRequest): string {
  const tenant = headers['x-svc-user']
  if (tenant === undefined || tenant === '') return 'default'
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant
  throw new MalformedRequestError({
    problem: 'X-Svc-User must have 1 to 128 characters: letters, digits and any of . _ @ -',
  })
}

/**
 * Returns a header that identifies a request or an event: 1 to 200 visible characters.
 * @throws MalformedRequestError
 */
export function markOf({ headers }: FastifyRequest, header: 'idempotency-key' | 'last-event-id'): string | undefined {
  const given = headers[header]
  if (given === undefined) return undefined
  // Node joins a header sent twice into a string with a space, which the pattern refuses.
  if (typeof given === 'string' && MARK.test(given)) return given
  throw new MalformedRequestError({
    problem: `${MARKED[header]} must be sent only once, with 1 to 200 visible ASCII characters.`,
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route needs no key. */
    open?: boolean
    /** Whether the route is for another protocol than that of the operations. */
    protocol?: boolean
    /** Whether a body may be a form. */
    forms?: boolean
  }
}
