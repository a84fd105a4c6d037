import type { IncomingMessage, ServerResponse } from 'node:http'
import { defineError, type OperationCall, point, token, z } from '#kernel'
import type { TcpAddress } from '#platform/daemon/contract'
import type { EncodedBody, PageEncoding } from './page-files.ts'

export { type EncodedBody, PAGE_ENCODINGS, type PageEncoding, readPageFile } from './page-files.ts'
export { problemOf } from './problem.ts'

/** The configuration section `server`. Read only at start. */
export const ServerConfig = z.object({
  api_key: z
    .string()
    .trim()
    .refine(
      key => !/[\p{Cc}\p{Cs}]/u.test(key),
      'must not contain control characters, which are not allowed in a header',
    )
    .default('')
    .meta({ secret: true, env: 'SVC_API_KEY' })
    .describe('API key that requests must send in X-Svc-Key; blank means no key'),
  cors_origins: z
    .array(z.string().refine(isOrigin, { error: 'must be an origin such as https://example.org, without a path' }))
    .default([])
    .describe('Origins of other pages that may use the API'),
  allowed_hosts: z
    .array(z.string().regex(/^[^\s/*]+$/, 'must be a host name such as svc.example.org; there are no wildcards'))
    .default([])
    .describe('Additional names, with or without a port, that the Host header may contain while no key is set'),
  max_connections: z
    .int()
    .min(1)
    .default(1024)
    .describe('Maximum number of open connections; lower if the process has a low limit on open files'),
  request_timeout: z
    .number()
    .positive()
    .max(3600)
    .default(15)
    .describe('Time limit for a request to arrive, in seconds'),
  max_streams: z
    .int()
    .min(1)
    .default(256)
    .describe(
      'Maximum number of open streams; at most half of what the limit on open files leaves after a reserve of 64',
    ),
  stream_buffer_bytes: z
    .int()
    .min(1024)
    .default(65_536)
    .describe('Bytes of a stream that are buffered for a slow reader before the stream is paused'),
  stream_stall_s: z
    .number()
    .positive()
    .default(30)
    .describe('Time after which a stream reader that takes no data is disconnected, in seconds'),
})
export type ServerConfig = z.infer<typeof ServerConfig>

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

export type { TcpAddress } from '#platform/daemon/contract'
/** Host and port, or the path of a unix socket. */
export type Address = TcpAddress | { socket: string }

export interface Listening {
  /** URL such as `http://127.0.0.1:8000`, or `unix:` and the path of the socket. */
  readonly url: string
  /** Host as configured, and port; undefined for a unix socket. */
  readonly tcp?: TcpAddress
  /** Accepts no more requests, ends those in flight within half a second, and frees the address. */
  close(): Promise<void>
}

/** A server of the project, in any of its processes. */
export interface FoundServer extends TcpAddress {
  pid: number
  /** Whether requests need a key. */
  needs_key?: boolean
  /** Weakness of the key, which matters where other machines can reach the server. */
  weakness?: string
}

export interface Rest {
  /**
   * Serves the REST app at an address. With `described`, writes a file in `.svc/servers/` for `svc doctor`.
   * @throws WideBindError, PortInUseError, CannotListenError, InvalidInputError
   */
  listen(address: Address, options?: { described?: boolean }): Promise<Listening>
  /** Returns the hosts and ports served by this process now, the oldest first. */
  addresses(): TcpAddress[]
}
export const Rest = token<Rest>('rest')

/** Static file that is served without a key: the shell of a page, which contains no data. */
export interface StaticRoute {
  path: string
  contentType: string
  headers?: Readonly<Record<string, string>>
  /** @param encodings what the client accepts, the smallest first; a body without an encoding suits every client */
  body(encodings: readonly PageEncoding[]): string | Buffer | EncodedBody | Promise<string | Buffer | EncodedBody>
}

export const StaticRoutes = point<StaticRoute>('static_routes', {
  key: route => route.path,
  has: { path: 'text', contentType: 'text', body: 'function' },
  claims: ({ path }) => [`GET ${path}`],
})

/** One request to a route of another protocol than that of the operations. */
export interface ProtocolExchange {
  request: IncomingMessage
  /** Response that already has the headers common to all answers. */
  response: ServerResponse
  /** Values of the path parameters. */
  params: Readonly<Record<string, string>>
  /**
   * Parsed JSON, where the request has a body. For an invalid body, the access throws MalformedRequestError; its cause
   * is set when the body is not JSON.
   */
  readonly body: unknown
  /** Body as it was sent, such as for the check of a signature; undefined without one. */
  readonly bytes: Buffer | undefined
  /** Caller of the request. */
  call: OperationCall
  /**
   * Counts this answer among the open streams until it is closed; `stop` is called when the server stops.
   * @throws TooManyStreamsError
   */
  stream(stop: () => void): void
}

/** HTTP route of an operation. */
export interface HttpRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Path, with `{name}` for parameters. Other input fields come from the query (GET, DELETE) or the body. */
  path: string
  /** Inputs for other interfaces, such as `all` for `--all`, which the route does not offer. */
  hidden?: readonly string[]
  /** Status of success; 200 by default. */
  status?: 200 | 201 | 202 | 204
  /** Returns the status of success, where it depends on the output. */
  statusOf?: (output: never) => number
  /** Statuses that `statusOf` may return besides `status`, with their descriptions. */
  statuses?: Readonly<Record<number, string>>
  /**
   * Whether the route takes an `Idempotency-Key`, which makes repeated requests one. With `true` the server stores the
   * answer, and the operation commits `call.effects` with what it creates. With `self` the operation uses
   * `call.idempotency_key`, as a stream must.
   */
  idempotent?: true | 'self'
  /** Returns the URL of what was created, for `Location`. */
  location?: (output: never) => string
  /** Maximum size of the request body, in bytes; 1 MiB by default. */
  body_bytes?: number
  /** Whether the route needs no key, even when one is set. */
  open?: boolean
  /** Media type of an answer that is a string; JSON by default. */
  produces?: string
  /** Returns further headers of a successful answer, from the input. */
  headers?: (input: never) => Readonly<Record<string, string>>
  /** Whether only a process with the heartbeat answers, though other interfaces run the operation anywhere. */
  daemon?: boolean
}

declare module '#kernel' {
  interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, C = OperationCall> {
    http?: HttpRoute
  }
}

/** Returns a path without its parameter names; two paths of the same shape match the same URLs. */
export function shapeOf(path: string): string {
  return path.replace(/\{\w+\}/g, '{}')
}

/** Route of another protocol, behind the same key, Host and Origin checks. */
export interface ProtocolRoute {
  path: string
  methods: readonly ('GET' | 'POST' | 'DELETE')[]
  /** Whether the route needs no key, and therefore must not return data. */
  open?: boolean
  /** Maximum size of the request body, in bytes; 1 MiB by default. */
  body_bytes?: number
  /** Whether a body may also be `application/x-www-form-urlencoded`, as many webhooks send it; only JSON by default. */
  forms?: boolean
  /** Writes the response itself; an error thrown before that is answered with a problem document. */
  handle(exchange: ProtocolExchange): Promise<void>
}
export const ProtocolRoutes = point<ProtocolRoute>('protocol_routes', {
  key: route => route.path,
  has: { path: 'text', methods: 'list', handle: 'function' },
  claims: ({ methods, path }) => methods.map(method => `${method} ${shapeOf(path)}`),
})

/** Error in a response: a problem document of RFC 9457. */
export const Problem = z.object({
  type: z.string().describe('URI of the problem type: `urn:svc:problem:` and the code'),
  title: z.string().describe('Title of the error, the same for every error with this code'),
  status: z.int(),
  detail: z.string().describe('Message that says what was wrong and what would be right'),
  code: z.string().describe('Stable name of the error'),
  request_id: z.string(),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional()
    .describe('Individual problems, each with the path of the value and a message'),
})
export type Problem = z.infer<typeof Problem>

export const WideBindError = defineError({
  code: 'key_needed',
  name: 'WideBindError',
  status: 500,
  title: 'API key required',
  message: (p: { host: string; shared: boolean }) =>
    `The host "${p.host}" needs a key${p.shared ? ', because other machines can reach it' : ''}: set server.api_key in .svc/config.yaml, or SVC_API_KEY. Without a key, listen on 127.0.0.1.`,
})
export const PortInUseError = defineError({
  code: 'port_in_use',
  status: 500,
  title: 'Port in use',
  message: (p: { port: number }) => `The port ${p.port} is in use; choose another with --port.`,
})
export const CannotListenError = defineError({
  code: 'cannot_listen',
  status: 500,
  title: 'Cannot listen',
  message: (p: { address: string; problem: string }) => `Cannot listen on ${p.address}: ${p.problem}.`,
})

/** The header X-Svc-Key is missing or wrong. */
export const UnauthorizedError = defineError({
  code: 'unauthorized',
  status: 401,
  title: 'Unauthorized',
  message: (p: { authorization: boolean } | void) => {
    const problem = 'The header X-Svc-Key is missing or wrong.'
    return p?.authorization ? `${problem} Send the key in it; the header Authorization is not read.` : problem
  },
})
export const TooManyAttemptsError = defineError({
  code: 'too_many_attempts',
  status: 429,
  title: 'Too many attempts',
  message: () => 'Too many wrong keys came from this address; try again in a second.',
})
export const ForbiddenHostError = defineError({
  code: 'forbidden_host',
  status: 403,
  title: 'Forbidden host',
  message: (p: { host: string }) =>
    `The Host header "${p.host}" does not name this server; add it to server.allowed_hosts, or set a key.`,
})
export const ForbiddenOriginError = defineError({
  code: 'forbidden_origin',
  status: 403,
  title: 'Forbidden origin',
  message: (p: { origin: string }) =>
    `Pages of ${p.origin} may not change anything on this server; to allow them, add the origin to server.cors_origins.`,
})
/** The URL, a header or the body of the request is malformed; the message names it. */
export const MalformedRequestError = defineError({
  code: 'malformed_request',
  status: 400,
  title: 'Malformed request',
  message: (p: { problem: string }) => p.problem,
})
export const RequestTimeoutError = defineError({
  code: 'request_timeout',
  status: 408,
  title: 'Request timeout',
  message: () => 'The request took too long to arrive.',
})
export const RouteNotFoundError = defineError({
  code: 'not_found',
  name: 'RouteNotFoundError',
  status: 404,
  title: 'Not found',
  /** @param p.disabled disabled modules, one of which may have the route */
  message: (p: { path: string; disabled?: readonly string[] }) =>
    `There is no route at ${p.path}; GET /openapi.json lists the routes.${p.disabled?.length ? ` It may belong to a disabled module (plugins.disabled): ${p.disabled.join(', ')}.` : ''}`,
})
export const MethodNotAllowedError = defineError({
  code: 'method_not_allowed',
  status: 405,
  title: 'Method not allowed',
  message: (p: { method: string; path: string; allow: string }) =>
    `${p.method} is not allowed at ${p.path}; allowed: ${p.allow}.`,
})
export const BodyTooLargeError = defineError({
  code: 'body_too_large',
  status: 413,
  title: 'Body too large',
  message: (p: { mebibytes: number }) => `The body is larger than ${p.mebibytes} MiB.`,
})
export const UnsupportedMediaTypeError = defineError({
  code: 'unsupported_media_type',
  status: 415,
  title: 'Unsupported media type',
  message: (p: { forms?: boolean | undefined }) =>
    `A body must be sent as Content-Type: application/json${p.forms ? ' or application/x-www-form-urlencoded' : ''}.`,
})
export const DaemonNotRunningError = defineError({
  code: 'daemon_not_running',
  status: 503,
  title: 'Daemon not running',
  message: () =>
    'This operation needs the daemon, which does not run in this process; run both with: svc serve --with-daemon',
})
export const IdempotencyKeyReusedError = defineError({
  code: 'idempotency_key_reused',
  status: 422,
  title: 'Idempotency key reused',
  message: (p: { earlier: string }) =>
    `This Idempotency-Key was used by ${p.earlier}, which was a different request; use a new key for a new request.`,
})
export const RequestUnderWayError = defineError({
  code: 'request_under_way',
  status: 409,
  title: 'Request under way',
  message: () => 'The first request with this Idempotency-Key has no answer yet; send it again in a moment.',
})
export const IdempotencyOutcomeUnknownError = defineError({
  code: 'idempotency_outcome_unknown',
  status: 409,
  title: 'Idempotency outcome unknown',
  message: () =>
    'The first request with this Idempotency-Key was carried out, but its answer was lost; check what it created, because a request with a new key creates it again.',
})
export const TooManyStreamsError = defineError({
  code: 'too_many_streams',
  status: 503,
  title: 'Too many streams',
  message: (p: { max: number; limit: string }) =>
    `${p.max} streams are open, the maximum that ${p.limit} allows; try again when one has ended.`,
})
export const ServerStoppingError = defineError({
  code: 'server_stopping',
  status: 503,
  title: 'Server is stopping',
  message: () => 'The server is being stopped; try again when it is back.',
})
