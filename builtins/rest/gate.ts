import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PluginHandle } from '#kernel'
import {
  ForbiddenHostError,
  ForbiddenOriginError,
  MalformedRequestError,
  RouteNotFoundError,
  type ServerConfig,
} from './contract.ts'
import { type Door, isOwnHost } from './hosts.ts'
import type { Keys } from './keys.ts'
import { corsHeaders, mayChange, preflight } from './origins.ts'

/** On every answer: data is kept by nobody, guessed to be nothing else, and embedded nowhere. */
const SAFETY = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const TENANT = /^[A-Za-z0-9._@-]{1,128}$/

/**
 * What a request must pass before its body is read: Host, origin, key, and being for something that exists.
 * Whether a key is needed is a property of the route that was matched, never of the text of the URL.
 */
export async function admit(
  svc: PluginHandle,
  config: ServerConfig,
  keys: Keys,
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { method, headers, raw } = request
  reply.headers({ ...SAFETY, 'x-request-id': request.id })

  const [host = '', ...more] = raw.headersDistinct.host ?? []
  if (host === '' || more.length > 0) {
    throw new MalformedRequestError({ problem: 'A request must have one Host header.' })
  }
  const insecure = svc.ports.env.SVC_API_ALLOW_INSECURE === '1'
  if (!door.local && !config.api_key && !isOwnHost(host, door, config.allowed_hosts, insecure)) {
    throw new ForbiddenHostError({ host })
  }

  reply.headers(corsHeaders(headers, config.cors_origins))
  const answer = preflight(method, headers, config.cors_origins)
  if (answer) return reply.code(204).headers(answer).send()
  if (!mayChange(method, headers, config.cors_origins)) {
    throw new ForbiddenOriginError({ origin: headers.origin ?? 'another site' })
  }

  if (config.api_key && !door.local && !request.routeOptions.config?.open) {
    keys.check(config.api_key, raw.headersDistinct['x-svc-key']?.[0], request.ip)
  }
  if (request.is404) throw new RouteNotFoundError({ path: request.url.split('?')[0]! })
  return undefined
}

/** Whose request it is: a hint for routing, not a boundary. @throws MalformedRequestError */
export function tenantOf({ headers }: FastifyRequest): string {
  const tenant = headers['x-svc-user']
  if (tenant === undefined || tenant === '') return 'default'
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant
  throw new MalformedRequestError({ problem: 'X-Svc-User may have 1 to 128 letters, digits and any of . _ @ -' })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers without a key. */
    open?: boolean
  }
}
