import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Effect, OperationCall } from '#kernel'
import { traceparentOf } from '#lib/traceparent'
import type { ListenerKind } from '../listener/hosts.ts'
import { markOf, tenantOf } from './gate.ts'

const RESPONSE = Symbol('response')
const LISTENER = Symbol('listener')
const GONE = Symbol('gone')

const noFollower = () => {}

/** Caller of an operation, from the headers of a request. */
export class RestCall implements OperationCall {
  readonly via = 'rest'
  readonly face = 'rest'
  readonly progress = noFollower
  readonly tenant: string
  /** Whether the request came over the project's own socket. */
  readonly local: boolean
  readonly request_id: string
  readonly idempotency_key?: string
  effects?: readonly Effect[]
  readonly replayed?: () => void
  readonly last_event_id?: string
  readonly traceparent?: string
  /** Aborted when the client disconnects before it has its answer, and when the server stops. */
  declare readonly signal: AbortSignal
  readonly [RESPONSE]: ServerResponse
  readonly [LISTENER]: ListenerKind;
  [GONE]: AbortSignal | undefined = undefined

  /** @throws MalformedRequestError */
  constructor(request: FastifyRequest, reply: FastifyReply, listener: ListenerKind) {
    this.tenant = tenantOf(request)
    this.local = listener.local
    this.request_id = request.id
    const key = markOf(request, 'idempotency-key')
    const seen = markOf(request, 'last-event-id')
    if (key !== undefined) {
      this.idempotency_key = key
      this.replayed = () => void reply.header('idempotency-replayed', 'true')
    }
    if (seen !== undefined) this.last_event_id = seen
    const traceparent = traceparentOf(request.headers.traceparent)
    if (traceparent !== undefined) this.traceparent = traceparent
    this[RESPONSE] = reply.raw
    this[LISTENER] = listener
    Object.defineProperty(this, 'signal', SIGNAL)
  }
}

/**
 * Property that creates the signal on first use: most operations end before a client could disconnect, and a signal
 * costs more than they do. An own property, so that copies have it too.
 */
const SIGNAL: PropertyDescriptor & ThisType<RestCall> = {
  enumerable: true,
  get() {
    this[GONE] ??= disconnectSignal(this[RESPONSE], this[LISTENER])
    return this[GONE]
  },
}

function disconnectSignal(response: ServerResponse, { inFlight }: ListenerKind): AbortSignal {
  const gone = new AbortController()
  if (response.closed) gone.abort()
  else inFlight.add(gone)
  response.once('close', () => {
    inFlight.delete(gone)
    if (!response.writableFinished) gone.abort()
  })
  return gone.signal
}
