import { InternalError, SvcError, z } from '#kernel'
import { BodyTooLargeError, MalformedRequestError, RequestTimeoutError, UnsupportedMediaTypeError } from './contract.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** An error on the wire: a problem document of RFC 9457. */
export const Problem = z.object({
  type: z.string().describe('`urn:svc:problem:` and the code'),
  title: z.string().describe('The same for every error of this code'),
  status: z.number().int(),
  detail: z.string().describe('A sentence: what was wrong, and what would be right'),
  code: z.string().describe('Stable name of the error'),
  request_id: z.string(),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional()
    .describe('What is wrong where'),
})
export type Problem = z.infer<typeof Problem>

export function problemOf(error: SvcError, request_id: string): Problem {
  const { code, title, status, message: detail, errors } = error
  const problem = { type: `urn:svc:problem:${code}`, title, status, detail, code, request_id }
  return errors.length > 0 ? { ...problem, errors: [...errors] } : problem
}

/** Headers that go with an error. A client that may try again is told when, in seconds. */
export function problemHeaders(error: SvcError): Record<string, string> {
  const again = error.retryAfter ?? (error.status === 503 || error.status === 429 ? 1 : undefined)
  return { 'content-type': PROBLEM_TYPE, ...(again === undefined ? {} : { 'retry-after': String(Math.ceil(again)) }) }
}

/** What was thrown while a request was answered, as an error that may be shown. */
export function shownError(error: unknown): SvcError {
  if (error instanceof SvcError) return error
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  if (typeof code !== 'string') return new InternalError()
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new UnsupportedMediaTypeError()
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new BodyTooLargeError()
  if (code.startsWith('FST_') && typeof statusCode === 'number' && statusCode < 500) {
    return new MalformedRequestError({ problem: 'The address or the length of the request is malformed.' })
  }
  return new InternalError()
}

/** What Node's parser refuses before there is a request: a whole answer, after which the connection is closed. */
export function refusal(code: string | undefined, request_id: string): string {
  const error =
    code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new RequestTimeoutError()
      : new MalformedRequestError({ problem: 'The request is not valid HTTP.' })
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
