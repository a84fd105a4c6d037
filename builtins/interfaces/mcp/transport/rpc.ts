/** Error codes of JSON-RPC 2.0 and of the protocol. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** A resource that is not there. */
export const NOT_FOUND = -32002

/** What a request is refused with, as JSON-RPC has it. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}
