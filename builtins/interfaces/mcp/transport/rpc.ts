/** Maximum size of a message, in bytes; a larger one is refused. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

/** Error codes of JSON-RPC 2.0 and of the protocol. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** Error code of the protocol for an unknown resource. */
export const NOT_FOUND = -32002

/** Error with which a request is refused, in the form of JSON-RPC. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}
