import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invoke, type OperationCall, Operations, type PluginHandle } from '#kernel'
import { conditional, sendOutput, windowHeaders } from './answer.ts'
import { parseBody } from './body.ts'
import { DaemonNotRunningError, MethodNotAllowedError, RouteNotFoundError, type ServerConfig } from './contract.ts'
import { admit, tenantOf } from './gate.ts'
import type { Door } from './hosts.ts'
import { inputOf } from './input.ts'
import type { Keys } from './keys.ts'
import { problemHeaders, problemOf, shownError } from './problem.ts'
import { type RouteTable, shapeOf } from './routes.ts'

const BODY_LIMIT = 1024 * 1024
const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'] as const
/** Ids and names are far shorter; a longer part of a path names nothing. */
const LONGEST_PARAMETER = 512

export interface AppParts {
  svc: PluginHandle
  config: ServerConfig
  keys: Keys
  doorOf: (request: IncomingMessage) => Door
}

/** A Fastify app with these routes. It holds no socket and no timer: one that is no longer asked is simply let go. */
export async function createApp({ svc, config, keys, doorOf }: AppParts, table: RouteTable): Promise<FastifyInstance> {
  const { fastify } = await import('fastify')
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => sendError(svc, error, request, reply)
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    genReqId: () => svc.ports.ids.make('req', 12),
    frameworkErrors: fail,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) =>
    parseBody(bytes),
  )
  app.setErrorHandler(fail)
  app.addHook('onRequest', (request, reply) => admit(svc, config, keys, doorOf(request.raw), request, reply))
  app.addHook('onSend', conditional)
  addPages(app, table)
  addOperations(app, svc, table)
  addRefusals(app, table)
  await app.ready()
  return app
}

function addPages(app: FastifyInstance, { pages }: RouteTable): void {
  for (const page of pages) {
    app.get(page.path, { config: { open: true } }, async (_request, reply) => {
      const body = await page.body()
      return reply
        .type(page.contentType)
        .headers(page.headers ?? {})
        .send(body)
    })
  }
}

function addOperations(app: FastifyInstance, svc: PluginHandle, { routes }: RouteTable): void {
  for (const { method, path, operation, open } of routes) {
    app.route({
      method,
      url: urlOf(path),
      config: { open },
      handler: (request, reply) => answer(svc, operation, request, reply),
    })
  }
}

/** 405 for the other methods of each path, before their body is looked at. */
function addRefusals(app: FastifyInstance, { routes, pages }: RouteTable): void {
  const places = new Map<string, { path: string; methods: string[] }>()
  for (const { method, path } of [...routes, ...pages.map(({ path }) => ({ method: 'GET', path }))]) {
    const place = places.get(shapeOf(path))
    if (place) place.methods.push(method)
    else places.set(shapeOf(path), { path, methods: [method] })
  }
  for (const { path, methods } of places.values()) {
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ')
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      reply.header('allow', allow)
      throw new MethodNotAllowedError({ method: request.method, path: request.url.split('?')[0]!, allow })
    }
    const method = METHODS.filter(each => !methods.includes(each))
    app.route({ method, url: urlOf(path), onRequest, handler: () => {} })
  }
}

async function answer(
  svc: PluginHandle,
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const operation = svc.find(Operations, name)
  if (!operation?.http) throw new RouteNotFoundError({ path: request.url.split('?')[0]! })
  const tenant = tenantOf(request)
  if ((operation.reach === 'daemon' || operation.http.daemon) && !svc.heartbeat.live) throw new DaemonNotRunningError()
  const { params, query, body } = request as FastifyRequest<{
    Params: Record<string, string>
    Querystring: Record<string, unknown>
    Body: Record<string, unknown> | undefined
  }>
  const input = inputOf(operation, { params, query, body })
  const call: OperationCall = {
    tenant,
    signal: goneSignal(reply),
    face: 'rest',
    request_id: request.id,
    progress: () => {},
  }
  const output = await invoke(operation, input, call)
  reply.headers(await windowHeaders(operation, input, request.url, call))
  return sendOutput(reply, operation.http, output)
}

/** Aborted when the client goes away before it has its answer. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}

function sendError(svc: PluginHandle, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = shownError(thrown)
  const { code, status } = error
  const fields = { request_id: request.id, code }
  if (status >= 500 && status !== 503) {
    const told = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
    svc.log.error(fields, `${request.method} ${request.routeOptions.url ?? ''}: ${told}`)
  } else svc.log.debug(fields, error.message)
  reply.code(status).headers({ ...problemHeaders(error), 'x-request-id': request.id })
  // As bytes: to a text Fastify would add a charset, which this media type doesn't have.
  reply.send(Buffer.from(JSON.stringify(problemOf(error, request.id))))
}

/** `/agents/{id}` as Fastify writes it: `/agents/:id`. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
