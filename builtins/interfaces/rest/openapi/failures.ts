import { type ErrorClass, InvalidInputError, type Operation } from '#kernel'
import { PluginGoneError, PluginSuspendedError } from '#platform/plugin-files/contract'
import { DatabaseLockedError, DatabaseUnusableError, RemovedMeanwhileError } from '#platform/store/contract'
import {
  BodyTooLargeError,
  DaemonNotRunningError,
  ForbiddenHostError,
  ForbiddenOriginError,
  type HttpRoute,
  IdempotencyKeyReusedError,
  IdempotencyOutcomeUnknownError,
  MalformedRequestError,
  RequestUnderWayError,
  RouteNotFoundError,
  ServerStoppingError,
  TooManyAttemptsError,
  TooManyStreamsError,
  UnauthorizedError,
  UnsupportedMediaTypeError,
} from '../contract.ts'
import { PROBLEM_TYPE } from '../request/problem.ts'
import { type Components, type Json, ref } from './schemas.ts'

const KEY_ERRORS = [IdempotencyKeyReusedError, RequestUnderWayError, IdempotencyOutcomeUnknownError]

type Errors = readonly Pick<ErrorClass<never>, 'code' | 'status' | 'title'>[]

/** Returns the errors that any request to such a route may get, whatever its operation does. */
function sharedErrors({ http, reach, events }: Operation): Errors {
  const { method, open, daemon, idempotent } = http as HttpRoute
  const changes = method !== 'GET'
  return [
    MalformedRequestError,
    ...(open ? [] : [UnauthorizedError, TooManyAttemptsError]),
    ForbiddenHostError,
    ...(changes ? [ForbiddenOriginError, BodyTooLargeError, UnsupportedMediaTypeError, RemovedMeanwhileError] : []),
    RouteNotFoundError,
    InvalidInputError,
    ...(reach === 'daemon' || daemon ? [DaemonNotRunningError] : []),
    ...(idempotent === true ? KEY_ERRORS : []),
    ...(events ? [TooManyStreamsError] : []),
    ServerStoppingError,
    DatabaseLockedError,
    DatabaseUnusableError,
    PluginGoneError,
    PluginSuspendedError,
  ]
}

/** Returns a response for each error status of an operation. Equal responses share one component. */
export function failureResponses(operation: Operation, { responses }: Components): Record<string, Json> {
  const byStatus = new Map<number, Errors>()
  for (const error of [...sharedErrors(operation), ...(operation.errors ?? [])]) {
    const known = byStatus.get(error.status) ?? []
    if (!known.some(({ code }) => code === error.code)) byStatus.set(error.status, [...known, error])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, alike]) => {
      const name = alike.map(({ code }) => code).join('.')
      responses[name] ??= problemResponse(status, alike)
      return [status, ref('responses', name)]
    }),
  )
}

function problemResponse(status: number, errors: Errors): Json {
  const mayRetry = status === 429 || status === 503 || errors.includes(RequestUnderWayError)
  const again = mayRetry ? { 'Retry-After': ref('headers', 'Retry-After') } : {}
  const narrowed = { properties: { status: { const: status }, code: { enum: errors.map(({ code }) => code) } } }
  return {
    description: errors.map(({ title, code }) => `${title} (\`${code}\`)`).join(', '),
    headers: { 'X-Request-Id': ref('headers', 'X-Request-Id'), ...again },
    content: { [PROBLEM_TYPE]: { schema: { allOf: [ref('schemas', 'Problem'), narrowed] } } },
  }
}
