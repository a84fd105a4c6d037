import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Operation, type OperationCall, parse } from '#kernel'
import type { HttpRoute } from '../contract.ts'

interface SendOptions {
  /** Output in the format of the command line, where the client asks for text. */
  text: string | undefined
  /** Masks secrets in JSON. */
  hide: (json: string) => string
}

/** Sends an operation's output as its route declares. */
export function sendOutput(
  reply: FastifyReply,
  http: HttpRoute,
  output: unknown,
  { text, hide }: SendOptions,
): FastifyReply {
  const sendText = (plain: string) => reply.send(JSON.parse(hide(JSON.stringify(plain))))
  const status = http.statusOf?.(output as never) ?? http.status ?? 200
  reply.code(status)
  if (http.location) reply.header('location', asHeader(http.location(output as never)))
  if (status === 503) reply.header('retry-after', '1')
  if (status === 204) return reply.send()
  if (http.produces) {
    reply.type(http.produces)
    return sendText(String(output))
  }
  if (text !== undefined) {
    reply.type('text/plain; charset=utf-8').header('vary', 'accept')
    return sendText(text)
  }
  const { json, tag } = serializeOutput(output)
  if (tag && status === 200) reply.header('etag', tag)
  return reply.type('application/json; charset=utf-8').send(json)
}

/** Encodes a URL for a header: anything but visible ASCII, as in a name that a user gave, is percent-encoded. */
function asHeader(location: string): string {
  return location.replace(/[^\x21-\x7e]+/g, encodeURI)
}

/** JSON and ETag of frozen outputs, which cannot change. */
const written = new WeakMap<object, { json: string; tag: string }>()

function serializeOutput(output: unknown): { json: string; tag?: string } {
  if (typeof output !== 'object' || output === null || !Object.isFrozen(output)) {
    return { json: JSON.stringify(output ?? null) }
  }
  const known = written.get(output)
  if (known) return known
  const json = JSON.stringify(output)
  const made = { json, tag: tagOf(json) }
  written.set(output, made)
  return made
}

function tagOf(payload: string | Buffer): string {
  return `"${hash('sha1', payload, 'base64url')}"`
}

/** Returns the headers of a page of a list: the total count, and the link to the next page. */
export async function windowHeaders(
  operation: Operation,
  raw: Readonly<Record<string, unknown>>,
  url: string,
  call: OperationCall,
): Promise<Record<string, string>> {
  const {
    limit,
    offset = 0,
    ...input
  } = parse(operation.input, raw, 'The request') as { limit?: number; offset?: number }
  // The length of a complete list is its total.
  if (limit === undefined && offset === 0) return {}
  const total = await operation.count!({ ...input, limit, offset }, call)
  const headers = { 'x-total-count': String(total) }
  if (limit === undefined || offset + limit >= total) return headers
  const next = new URL(url, 'http://localhost')
  next.searchParams.set('offset', String(offset + limit))
  return { ...headers, link: `<${next.pathname}${next.search}>; rel="next"` }
}

/** Masks secrets in JSON, because an error of a plugin or a provider may contain one. */
export function hideSecrets(reply: FastifyReply, payload: unknown, hide: (json: string) => string): unknown {
  if (!String(reply.getHeader('content-type')).includes('json')) return payload
  if (typeof payload === 'string') return hide(payload)
  return Buffer.isBuffer(payload) ? Buffer.from(hide(payload.toString())) : payload
}

/** Adds an ETag to answers of GET, and sends 304 to a client that already has the answer. */
export function conditional(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if ((request.method !== 'GET' && request.method !== 'HEAD') || reply.statusCode !== 200) return payload
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
  const tag = reply.getHeader('etag') ?? tagOf(payload)
  reply.header('etag', tag)
  const known = request.headers['if-none-match']?.split(',').map(each => each.trim().replace(/^W\//, ''))
  if (!known?.includes(String(tag)) && !known?.includes('*')) return payload
  reply.code(304)
  return null
}
