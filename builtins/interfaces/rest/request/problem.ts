import type { FastifyRequest } from 'fastify'
import { type PluginHandle, SvcError } from '#kernel'
import { unexpectedError } from '#lib/errors'
import {
  BodyTooLargeError,
  MalformedRequestError,
  problemOf,
  RequestTimeoutError,
  TooManyStreamsError,
  UnsupportedMediaTypeError,
} from '../contract.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** Returns the headers of an error, with `Retry-After` in seconds when a retry may succeed. */
export function problemHeaders(error: SvcError): Record<string, string> {
  const again = error.retryAfter ?? (error.status === 503 || error.status === 429 ? 1 : undefined)
  return {
    'content-type': PROBLEM_TYPE,
    ...(again === undefined ? {} : { 'retry-after': String(Math.ceil(again)) }),
    // A client that waits for a free stream should not keep its connection meanwhile.
    ...(error instanceof TooManyStreamsError ? { connection: 'close' } : {}),
  }
}

/** Converts what was thrown while a request was answered into an error that may be shown. */
function shownError(error: unknown, { id: request_id, routeOptions, raw }: FastifyRequest): SvcError {
  if (error instanceof SvcError) return error
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  if (typeof code !== 'string') return unexpectedError(error, request_id)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new UnsupportedMediaTypeError({ forms: routeOptions.config.forms })
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new BodyTooLargeError({ mebibytes: routeOptions.bodyLimit / 1024 / 1024 })
  }
  if (code.startsWith('FST_') && typeof statusCode === 'number' && statusCode < 500) {
    return new MalformedRequestError({ problem: 'The URL or the Content-Length of the request is malformed.' })
  }
  if (raw.destroyed && !raw.complete) {
    return new MalformedRequestError({ problem: 'The connection ended before the body was complete.' })
  }
  return unexpectedError(error, request_id)
}

/** Converts what was thrown into an error that may be shown, and logs the details that are not shown. */
export function reportError(svc: PluginHandle, thrown: unknown, request: FastifyRequest): SvcError {
  const error = shownError(thrown, request)
  const { code, status } = error
  const fields = { request_id: request.id, code }
  if (status >= 500 && status !== 503) {
    const description = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
    svc.log.error(fields, `${request.method} ${request.routeOptions.url ?? ''}: ${description}`)
  } else svc.log.debug(fields, error.message)
  return error
}

/**
 * Returns a complete HTTP response for what Node's parser refuses before a request exists; the connection is closed
 * after it.
 */
export function refusal(code: string | undefined, request_id: string): string {
  const problem =
    code === 'HPE_HEADER_OVERFLOW'
      ? 'The URL and the headers of the request are longer than 16 KiB.'
      : 'The request is not valid HTTP.'
  const error = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? new RequestTimeoutError() : new MalformedRequestError({ problem })
  const body = JSON.stringify(problemOf(error, request_id))
  const head = [
    `HTTP/1.1 ${error.status} ${error.title}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${request_id}`,
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
