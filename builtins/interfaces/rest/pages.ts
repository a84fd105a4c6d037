import type { FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_ENCODINGS, type PageEncoding, type StaticRoute } from './contract.ts'

/** Sends a page's file, compressed where the client accepts that and the file was compressed when it was built. */
export async function sendPage(page: StaticRoute, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const body = await page.body(acceptedEncodings(request.headers['accept-encoding']))
  const vary = reply.getHeader('vary')
  reply
    .type(page.contentType)
    .headers(page.headers ?? {})
    .header('vary', vary ? `${vary}, Accept-Encoding` : 'Accept-Encoding')
  if (typeof body === 'string' || Buffer.isBuffer(body)) return reply.send(body)
  return reply.header('content-encoding', body.encoding).send(body.bytes)
}

/** Returns the encodings that an Accept-Encoding header allows, in our order of preference; none without the header. */
function acceptedEncodings(header: string | string[] | undefined): PageEncoding[] {
  const accepted = new Map<string, boolean>()
  for (const each of String(header ?? '').split(',')) {
    const [name = '', ...parameters] = each.split(';').map(part => part.trim().toLowerCase())
    accepted.set(name === 'x-gzip' ? 'gzip' : name, !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter)))
  }
  const names = Object.keys(PAGE_ENCODINGS) as PageEncoding[]
  return names.filter(name => accepted.get(name) ?? accepted.get('*') ?? false)
}
