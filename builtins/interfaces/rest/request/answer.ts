import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Operation, type OperationCall, parse } from '#kernel'
import type { HttpRoute } from '../contract.ts'

interface SendOptions {
  /** The output as its command prints it, where the client asks for text. */
  text: string | undefined
  /** Takes secrets out of JSON. */
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

/** A place as a header can hold it: what is no visible ASCII, as in a name that a user gave, is percent-encoded. */
function asHeader(location: string): string {
  return location.replace(/[^\x21-\x7e]+/g, encodeURI)
}

/** What is frozen is written, and tagged, once. */
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

/** For a window of a list: how many there are in all, and where the next window is. */
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
  // The length of a whole list is its total.
  if (limit === undefined && offset === 0) return {}
  const total = await operation.count!({ ...input, limit, offset }, call)
  const headers = { 'x-total-count': String(total) }
  if (limit === undefined || offset + limit >= total) return headers
  const next = new URL(url, 'http://localhost')
  next.searchParams.set('offset', String(offset + limit))
  return { ...headers, link: `<${next.pathname}${next.search}>; rel="next"` }
}

/** JSON without the values of secrets: what a plugin or a provider threw may hold one. */
export function hideSecrets(reply: FastifyReply, payload: unknown, hide: (json: string) => string): unknown {
  if (!String(reply.getHeader('content-type')).includes('json')) return payload
  if (typeof payload === 'string') return hide(payload)
  return Buffer.isBuffer(payload) ? Buffer.from(hide(payload.toString())) : payload
}

/** Tags what GET answers, and sends nothing to a client that has it already. */
export function conditional(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if ((request.method !== 'GET' && request.method !== 'HEAD') || reply.statusCode !== 200) return payload
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
  const tag = reply.getHeader('etag') ?? tagOf(payload)
  reply.header('etag', tag)
  const known = request.headers['if-none-match']?.split(',').map(each => each.trim().replace(/^W\//, ''))
  if (!known?.includes(String(tag))) return payload
  reply.code(304)
  return null
}
