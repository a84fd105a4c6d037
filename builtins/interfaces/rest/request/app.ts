import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HostToken, invoke, type Operation, type OperationCall, Operations, type PluginHandle, parse } from '#kernel'
import { hiddenCount, noticeOf } from '#lib/list'
import type { StreamEvent } from '#lib/stream'
import { Daemon } from '#platform/daemon/contract'
import { Store } from '#platform/store/contract'
import {
  DaemonNotRunningError,
  type ProtocolRoute,
  ProtocolRoutes,
  problemOf,
  RouteNotFoundError,
  type ServerConfig,
  UnsupportedMediaTypeError,
} from '../contract.ts'
import type { ListenerKind } from '../listener/hosts.ts'
import type { Keys } from '../listener/keys.ts'
import { sendPage } from '../pages.ts'
import { EVENT_STREAM } from '../stream/frames.ts'
import type { Streams } from '../stream/stream.ts'
import { conditional, hideSecrets, sendOutput, windowHeaders } from './answer.ts'
import { parseBody, parseForm } from './body.ts'
import { RestCall } from './call.ts'
import { admit } from './gate.ts'
import { runIdempotently } from './idempotency.ts'
import { inputOf } from './input.ts'
import { problemHeaders, reportError } from './problem.ts'
import { createRefusal, shadowedRoutes } from './refusals.ts'
import type { RouteTable } from './routes.ts'

const FORM = 'application/x-www-form-urlencoded'
const BODY_LIMIT = 1024 * 1024
/** Maximum length of a path parameter; ids and names are far shorter. */
const LONGEST_PARAMETER = 512

/**
 * Compilers that Fastify must never call: operations validate their own schemas. Without these, Fastify loads its own.
 */
const noSchemas = () => () => {
  throw new TypeError('a route must not define a Fastify schema')
}
const NO_SCHEMAS = { buildValidator: noSchemas, buildSerializer: noSchemas }

export interface AppParts {
  svc: PluginHandle
  config: ServerConfig
  keys: Keys
  streams: Streams
  listenerOf: (request: IncomingMessage) => ListenerKind
  /** Masks secrets in JSON. */
  hide: (json: string) => string
}

/** Creates a Fastify app with these routes. It holds no socket and no timer, so an unused one is garbage-collected. */
export async function createApp(parts: AppParts, table: RouteTable): Promise<FastifyInstance> {
  const { svc, config, keys, listenerOf, hide } = parts
  const [{ fastify }, sse] = await Promise.all([import('fastify'), import('fastify-sse-v2')])
  // Loaders such as tsx return the default export of a CommonJS module in place of the module.
  const eventStreams = sse.FastifySSEPlugin ?? sse.default
  const refuse = createRefusal(table, () =>
    svc
      .use(HostToken)
      .list()
      .flatMap(({ name, state }) => (state === 'disabled' ? name : [])),
  )
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => sendError(svc, error, request, reply)
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    genReqId: () => svc.ports.ids.make('req', 12),
    frameworkErrors: fail,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    schemaController: { compilersFactory: NO_SCHEMAS },
  })
  app.removeAllContentTypeParsers()
  // Protocols report an invalid body in their own format.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) =>
    request.routeOptions.config.protocol ? bytes : bytes.length === 0 ? undefined : parseBody(bytes),
  )
  // Any page in a browser can send a form to any address, so a route must ask for forms.
  app.addContentTypeParser(FORM, { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if (!request.routeOptions.config.forms) throw new UnsupportedMediaTypeError({})
    return bytes
  })
  await app.register(eventStreams, { highWaterMark: config.stream_buffer_bytes })
  app.setErrorHandler(fail)
  app.addHook('onRequest', (request, reply, done) => {
    if (!admit(svc, config, keys, listenerOf(request.raw), request, reply)) return
    if (request.is404) refuse(request, reply)
    if (!request.routeOptions.config.protocol) ignoreTypeOfNoBody(request.raw)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) =>
    done(null, conditional(request, reply, hideSecrets(reply, payload, hide))),
  )
  addPages(app, table)
  addProtocols(app, parts, table)
  addOperations(app, parts, table)
  for (const { path, methods, refuse } of shadowedRoutes(table)) {
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => refuse(request, reply)
    app.route({ method: methods, url: urlOf(path), onRequest, handler: () => {} })
  }
  await app.ready()
  return app
}

function addPages(app: FastifyInstance, { pages }: RouteTable): void {
  for (const page of pages) {
    app.route({
      method: withHead('GET'),
      url: page.path,
      config: { open: true },
      handler: (request, reply) => sendPage(page, request, reply),
    })
  }
}

function addProtocols(app: FastifyInstance, parts: AppParts, { protocols }: RouteTable): void {
  for (const { methods, path, open = false, forms = false, body_bytes = BODY_LIMIT } of protocols) {
    app.route({
      method: methods.flatMap(withHead),
      url: urlOf(path),
      bodyLimit: body_bytes,
      config: { open, forms, protocol: true },
      handler: (request, reply) => answerProtocol(parts, path, request, reply),
    })
  }
}

function addOperations(app: FastifyInstance, parts: AppParts, { routes }: RouteTable): void {
  for (const { method, path, operation, open, body_bytes = BODY_LIMIT } of routes) {
    app.route({
      method: withHead(method),
      url: urlOf(path),
      bodyLimit: body_bytes,
      config: { open },
      handler: (request, reply) => answer(parts, operation, request, reply),
    })
  }
}

async function answer(
  parts: AppParts,
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { svc, hide } = parts
  const operation = svc.find(Operations, name)
  if (!operation?.http) throw new RouteNotFoundError({ path: request.url.split('?')[0]! })
  const call = new RestCall(request, reply, parts.listenerOf(request.raw))
  const isDriving = () => (svc.has(Daemon) ? svc.use(Daemon).isDriving() : svc.heartbeat.live)
  if ((operation.reach === 'daemon' || operation.http.daemon) && !(await isDriving())) throw new DaemonNotRunningError()
  const { params, query, body } = request as FastifyRequest<{
    Params: Record<string, string>
    Querystring: Record<string, unknown>
    Body: Record<string, unknown> | undefined
  }>
  const input = inputOf(operation, { params, query, body })
  if (operation.events) return answerStream(parts, operation, input, call, request, reply)
  const key = operation.http.idempotent === true && svc.has(Store) ? call.idempotency_key : undefined
  const route = `${request.method} ${request.url.split('?')[0]}`
  const output =
    key === undefined
      ? await invoke(operation, input, call)
      : await runIdempotently(svc, { operation, input, call, key, route, hide })
  if (operation.count) reply.headers(await windowHeaders(operation, input, request.url, call))
  const left = await hiddenCount(operation, input, svc)
  if (left > 0) reply.header('x-hidden-count', String(left))
  const notice = await noticeOf(operation, input, call.tenant, svc)
  if (notice) reply.header('x-notice', headerValue(JSON.parse(hide(JSON.stringify(notice)))))
  if (operation.http.headers) reply.headers(operation.http.headers(input as never))
  const text = request.headers.accept === 'text/plain' ? operation.render?.(output as never) : undefined
  return sendOutput(reply, operation.http, output, { text, hide })
}

/** Returns text that a header can have: paths and errors of other programs may have further characters. */
function headerValue(text: string): string {
  return text.replace(/[^ -~]+/g, '?')
}

/**
 * Answers a request of another protocol. The response is written outside Fastify, which takes part only when the
 * response is done or has not begun.
 */
async function answerProtocol(
  { svc, streams, listenerOf }: AppParts,
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const route: ProtocolRoute | undefined = svc.find(ProtocolRoutes, path)
  if (!route) throw new RouteNotFoundError({ path: request.url.split('?')[0]! })
  const listener = listenerOf(request.raw)
  const response = reply.raw
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) response.setHeader(name, value)
  let read: Record<string, unknown> | undefined
  try {
    await route.handle({
      request: request.raw,
      response,
      params: request.params as Record<string, string>,
      get body() {
        if (request.body === undefined) return undefined
        const isForm = request.headers['content-type']?.toLowerCase().startsWith(FORM)
        read ??= (isForm ? parseForm : parseBody)(request.body as Buffer)
        return read
      },
      bytes: request.body as Buffer | undefined,
      call: new RestCall(request, reply, listener),
      stream: stop => streams.count(stop, listener, response),
    })
  } catch (error) {
    if (!response.headersSent) throw error
    svc.log.error({ request_id: request.id, err: error }, 'response aborted after its headers were sent')
    response.destroy()
  }
  return reply.hijack()
}

function answerStream(
  { streams, listenerOf }: AppParts,
  operation: Operation,
  input: Record<string, unknown>,
  call: OperationCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> | FastifyReply {
  if (request.method === 'HEAD') {
    parse(operation.input, input, 'The request')
    return reply.type(EVENT_STREAM).send()
  }
  const begin = async (signal: AbortSignal) =>
    (await invoke(operation, input, { ...call, signal })) as AsyncIterable<StreamEvent>
  return streams.answer(begin, listenerOf(request.raw), request, reply)
}

/** Removes the media type from a request without a body: many clients send it with every request. */
function ignoreTypeOfNoBody({ headers }: IncomingMessage): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  if (length === '0' && encoding === undefined) delete headers['content-type']
}

function sendError(svc: PluginHandle, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = reportError(svc, thrown, request)
  reply.code(error.status).headers({ ...problemHeaders(error), 'x-request-id': request.id })
  // Sent as bytes: for a string, Fastify would add a charset, which this media type does not have.
  reply.send(Buffer.from(JSON.stringify(problemOf(error, request.id))))
}

/**
 * Returns the methods of a route: one for GET also answers HEAD, where Node omits the body. One shared route costs half
 * of two.
 */
function withHead(method: string): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/** Converts `/agents/{id}` to the notation of Fastify, `/agents/:id`. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
