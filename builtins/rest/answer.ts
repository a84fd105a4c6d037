import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type HttpFace, type Operation, type OperationCall, parse } from '#kernel'

/** Sends an operation's output as its HTTP face says. */
export function sendOutput(reply: FastifyReply, http: HttpFace, output: unknown): FastifyReply {
  const status = http.statusOf?.(output as never) ?? http.status ?? 200
  reply.code(status)
  if (http.location) reply.header('location', http.location(output as never))
  if (status === 503) reply.header('retry-after', '1')
  if (status === 204) return reply.send()
  if (http.produces) return reply.type(http.produces).send(String(output))
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(output ?? null))
}

/** For a window of a list: how many there are in all, and where the next window is. */
export async function windowHeaders(
  operation: Operation,
  raw: Readonly<Record<string, unknown>>,
  url: string,
  call: OperationCall,
): Promise<Record<string, string>> {
  if (!operation.count || raw.limit === undefined) return {}
  const input = parse(operation.input, raw, 'The request') as { limit: number; offset?: number }
  const total = await operation.count(input, call)
  const headers = { 'x-total-count': String(total) }
  const offset = (input.offset ?? 0) + input.limit
  if (offset >= total) return headers
  const next = new URL(url, 'http://localhost')
  next.searchParams.set('offset', String(offset))
  return { ...headers, link: `<${next.pathname}${next.search}>; rel="next"` }
}

/** Tags what GET answers, and sends nothing to a client that has it already. */
export async function conditional(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  if ((request.method !== 'GET' && request.method !== 'HEAD') || reply.statusCode !== 200) return payload
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
  const tag = `"${createHash('sha1').update(payload).digest('base64url')}"`
  reply.header('etag', tag)
  const known = request.headers['if-none-match']?.split(',').map(each => each.trim().replace(/^W\//, ''))
  if (!known?.includes(tag)) return payload
  reply.code(304)
  return null
}
