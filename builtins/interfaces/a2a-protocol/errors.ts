import { AgentNotFoundError, AmbiguousAgentError } from '#core/agents/contract'
import { OtherAgentSessionError, SessionClosedError, SessionNotFoundError } from '#core/sessions/contract'
import { TaskAsksNothingError, TaskNotFoundError, TaskOverError } from '#core/tasks/contract'
import { IdempotencyKeyReusedError, MalformedRequestError } from '#interfaces/rest/contract'
import { InvalidInputError, SvcError } from '#kernel'
import { GuardrailBlockedError } from '#safety/guardrails/contract'
import { AgentCannotAnswerError, NotAnOptionError, QuestionClosedError } from '#safety/questions/contract'

/** Error codes of JSON-RPC and of the protocol. */
export const CODES = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal: -32603,
  task_not_found: -32001,
  task_not_cancelable: -32002,
  push_not_supported: -32003,
  unsupported_operation: -32004,
  content_type_not_supported: -32005,
  no_extended_card: -32007,
  version_not_supported: -32009,
} as const

/** An error of the protocol. */
export class RpcError extends Error {
  readonly code: number
  readonly reason: string

  constructor(code: keyof typeof CODES, message: string, reason: string = code) {
    super(message)
    this.code = CODES[code]
    this.reason = reason
  }
}

/** Errors caused by the request, which the caller can correct. */
const ASKED_WRONGLY = [
  InvalidInputError,
  AgentNotFoundError,
  AmbiguousAgentError,
  SessionNotFoundError,
  SessionClosedError,
  OtherAgentSessionError,
  AgentCannotAnswerError,
  GuardrailBlockedError,
  NotAnOptionError,
  QuestionClosedError,
]

/** Returns an error in the form of the protocol, with our own code as its reason; undefined for an internal one. */
export function rpcErrorOf(error: unknown): RpcError | undefined {
  if (error instanceof RpcError) return error
  if (!(error instanceof SvcError)) return undefined
  const of = (code: keyof typeof CODES) => new RpcError(code, error.message, error.code)
  if (error.code === IdempotencyKeyReusedError.code) {
    const message = 'This messageId was used by a different message; use a new messageId for a new message.'
    return new RpcError('invalid_params', message, error.code)
  }
  // With a cause, the body is not JSON at all.
  if (error.code === MalformedRequestError.code) return of(error.cause ? 'parse_error' : 'invalid_request')
  if (error.code === TaskNotFoundError.code) return of('task_not_found')
  if (error.code === TaskOverError.code) return of('task_not_cancelable')
  if (error.code === TaskAsksNothingError.code) return of('unsupported_operation')
  return of(ASKED_WRONGLY.some(({ code }) => code === error.code) ? 'invalid_params' : 'internal')
}

/** Returns an error as a JSON-RPC response. */
export function errorAnswer(id: string | number | null, { code, message, reason }: RpcError) {
  const detail = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: reason.toUpperCase(), domain: 'svc' }
  return { jsonrpc: '2.0', id, error: { code, message, data: [detail] } }
}
