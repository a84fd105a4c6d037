import { type Clock, describeIssues, errorMessage, issuesOf, type Ports, z } from '#kernel'
import { maskText, secretsIn } from '#lib/secrets'
import { overflowIn } from '../context/overflow.ts'
import { ModelError, type ModelFailure } from '../contract.ts'
import { type Endpoint, pathRemedy } from './endpoints.ts'
import { isLoading, refusalIn } from './refusals.ts'

/** Error that the `openai` package throws for an error response or a failed connection. */
interface ApiError {
  status?: number
  code?: unknown
  headers?: Headers
  /** Anthropic nests its error one level deeper. */
  error?: Reported & { error?: Reported }
}

interface Reported {
  message?: unknown
  code?: unknown
  type?: unknown
}

/** Error codes of connections that were never made, so nothing was charged. */
const UNREACHED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_URL|CONNECT_TIMEOUT|UND_ERR_CONNECT_TIMEOUT)$/

/** Length of the beginning, and of the end, of a provider's message that is searched. */
const MESSAGE_CHARS = 2_000

type FaultPorts = Pick<Ports, 'clock' | 'env'>

/**
 * Converts any provider error to a `ModelError` with a one-line message and whether to try again. Secrets of the
 * environment are masked.
 */
export function faultOf(error: unknown, model: string, endpoint: Endpoint, ports: FaultPorts): ModelError {
  if (error instanceof ModelError) return error
  const { problem, ...facts } = describe(error, endpoint, ports)
  const remedy =
    facts.http_status === 401
      ? `; check the key in ${endpoint.key_env}, and restart the service after you change it`
      : facts.http_status === 404 && !/\bmodel\b/i.test(problem)
        ? pathRemedy(endpoint)
        : ''
  return new ModelError({ model, problem: problem + remedy }, { cause: error, ...facts })
}

interface Description {
  problem: string
  kind: ModelFailure
  transient?: boolean
  billed?: boolean
  interrupted?: boolean
  retryAfter?: number
  context_window?: number | null
  http_status?: number
  parameter?: string
}

function describe(error: unknown, { base_url, start }: Endpoint, { clock, env }: FaultPorts): Description {
  const brief = (text: unknown) => shorten(text, secretsIn(env))
  if (error instanceof z.ZodError) {
    return {
      problem: `${base_url} sent an answer that does not match its protocol (${describeIssues(issuesOf(error).slice(0, 1))}); check the base URL`,
      kind: 'broken',
      interrupted: true,
    }
  }
  if (error instanceof SyntaxError) {
    return { problem: `${base_url} sent text that is not JSON`, kind: 'broken', interrupted: true }
  }
  if (error instanceof RangeError) return { problem: error.message, kind: 'broken', transient: false }
  const { status, headers, error: sent, code } = error as ApiError
  const body = sent?.error ?? sent
  if (typeof status === 'number') return refusal(status, retryAfterOf(headers, clock), body, error, brief)
  if (body && typeof body === 'object') {
    const overflow = overflowIn(0, `${body.code ?? ''} ${body.type ?? ''} ${shortenMessage(body.message ?? '')}`)
    if (overflow) return isOverflow(`${base_url} reported: ${brief(body.message ?? code)}`, overflow)
    // LM Studio's answer for an unknown path, with HTTP 200.
    if (/unexpected endpoint/i.test(String(body.message))) return refusal(404, undefined, body, error, brief)
    const kind = body.type === 'overloaded_error' ? 'overloaded' : 'server_error'
    return { problem: `${base_url} reported: ${brief(body.message ?? code)}`, kind }
  }
  const reason = causeCode(error)
  if (reason && UNREACHED.test(reason)) {
    const next = start ? `start it with "${start}"` : 'is the server running?'
    const problem = `${base_url} cannot be reached (${reason}); ${next}`
    return { problem, kind: 'unreachable', billed: false }
  }
  return {
    problem: `the connection to ${base_url} was lost (${reason ?? brief(errorMessage(rootOf(error)))})`,
    kind: 'broken',
  }
}

/** Describes a response with an error status. The provider did no work, so it costs nothing. */
function refusal(
  status: number,
  retryAfter: number | undefined,
  body: Reported | undefined,
  error: unknown,
  brief: (text: unknown) => string,
): Description {
  // Where the body is no JSON, the SDK's message begins with the status.
  const plain = errorMessage(error).replace(`${status} `, '')
  const empty = status === 404 ? 'the answer is empty; check the base URL' : 'the answer is empty'
  const message = brief(body?.message ?? (plain === 'status code (no body)' ? empty : plain))
  const whole = `${body?.code ?? ''} ${body?.type ?? ''} ${shortenMessage(body?.message ?? errorMessage(error))}`
  const overflow = overflowIn(status, whole)
  if (overflow) return isOverflow(`HTTP ${status}: ${message}`, overflow)
  const refused = refusalIn(status, whole)
  if (refused) {
    const { remedy, ...facts } = refused
    return { problem: `HTTP ${status}: ${message}; ${remedy}`, transient: false, billed: false, ...facts }
  }
  if (isLoading(status, whole)) {
    return { problem: `its server is loading the model (HTTP ${status}: ${message})`, kind: 'loading', billed: false }
  }
  // An exhausted quota is also a 429, but waiting does not help.
  const isEmpty = body?.code === 'insufficient_quota' || status === 402
  const transient = status === 408 || status === 429 || status >= 500
  return {
    problem: `HTTP ${status}: ${message}`,
    kind: isEmpty ? 'quota' : kindOf(status),
    http_status: status,
    transient: transient && !isEmpty,
    billed: false,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  }
}

/** Describes a request that exceeds the context window: only a smaller one can succeed. */
function isOverflow(problem: string, { window }: { window: number | null }): Description {
  return { problem, kind: 'context_overflow', transient: false, billed: false, context_window: window }
}

/**
 * Returns the kind of failure for a status. 529 is Anthropic's overload: https://platform.claude.com/docs/en/api/errors
 */
function kindOf(status: number): ModelFailure {
  if (status === 429) return 'rate_limited'
  if (status === 503 || status === 529) return 'overloaded'
  if (status === 401 || status === 403) return 'auth'
  return status === 408 || status >= 500 ? 'server_error' : 'refused'
}

/**
 * Returns the seconds of `retry-after-ms`, or of `retry-after`, which is a number or a date (RFC 9110, 10.2.3). A date
 * is compared with the server's own `date` header, so a wrong local clock does not matter.
 */
function retryAfterOf(headers: Headers | undefined, clock: Pick<Clock, 'ms'>): number | undefined {
  const [ms, retryAfter, date] = ['retry-after-ms', 'retry-after', 'date'].map(
    name => headers?.get(name)?.trim() || undefined,
  )
  const seconds = Number(ms === undefined ? (retryAfter ?? Number.NaN) : Number(ms) / 1000)
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds : undefined
  const [until, now] = [Date.parse(retryAfter ?? ''), Date.parse(date ?? '')]
  if (Number.isNaN(until)) return undefined
  return Math.max(0, (until - (Number.isNaN(now) ? clock.ms() : now)) / 1000)
}

/** Returns the system's error code, such as ECONNREFUSED. */
export function causeCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code, errors } = at as Error & { code?: unknown; errors?: unknown[] }
    if (typeof code === 'string') return code
    // Happy eyeballs: one failure per address, in an AggregateError.
    if (Array.isArray(errors)) return causeCode(errors[0])
  }
  return undefined
}

/** Returns the innermost cause. A failed redirect is three errors deep, and the outer errors do not mention it. */
function rootOf(error: unknown): unknown {
  let root = error
  for (let depth = 0; root instanceof Error && root.cause instanceof Error && depth < 5; depth++) root = root.cause
  return root
}

/** Returns the beginning and the end of a message: some are whole pages, which patterns would take seconds to search. */
function shortenMessage(message: unknown): string {
  const text = String(message)
  return text.length > 2 * MESSAGE_CHARS ? `${text.slice(0, MESSAGE_CHARS)} ${text.slice(-MESSAGE_CHARS)}` : text
}

/** Returns the beginning of a message on one line. Secrets are masked first: of one that is cut, a part would stay. */
function shorten(text: unknown, secrets: readonly string[]): string {
  const line = shortenMessage(maskText(String(text ?? 'no reason given'), secrets))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return (line.length > 300 ? `${line.slice(0, 300)}…` : line).replace(/\.$/, '')
}
