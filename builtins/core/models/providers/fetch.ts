import { ModelError } from '../contract.ts'
import type { Endpoint } from './endpoints.ts'

const MiB = 1024 * 1024
/** Maximum size of a streamed answer. Each piece of a stream takes about 300 bytes. */
export const MAX_STREAM_BYTES = 64 * MiB
const MAX_BODY_BYTES = 8 * MiB

/**
 * Returns the response with a body that fails once it exceeds the size limit.
 * @param streams whether event streams are limited too; a reader that counts bytes itself does so at a fraction of the
 * cost
 */
export async function capBody(responding: Promise<Response>, streams = true): Promise<Response> {
  const response = await responding
  if (!response.body) return response
  const streamed = response.ok && isStream(response)
  if (streamed && !streams) return response
  const limit = streamed ? MAX_STREAM_BYTES : MAX_BODY_BYTES
  let bytes = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > limit) controller.error(tooLarge(limit))
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers })
}

/** Returns whether an answer is an event stream. */
export function isStream({ headers }: Pick<Response, 'headers'>): boolean {
  return headers.get('content-type')?.includes('text/event-stream') ?? false
}

/**
 * Creates the error for an answer above the limit.
 * @param limit bytes
 */
export function tooLarge(limit: number): RangeError {
  return new RangeError(`the answer is larger than ${limit / MiB} MiB`)
}

/** Ensures that the key that an endpoint needs is set. @throws ModelError */
export function refuseWithoutKey({ name, key, key_env, needs_key }: Endpoint, model: string): void {
  if (!needs_key || key) return
  const problem = `${key_env} is not set; set it to your ${name} key, or choose another model`
  throw new ModelError({ model, problem }, { kind: 'auth', transient: false, billed: false })
}

/** Ensures that an answer is not a web page, as wrong base URLs return. @throws ModelError */
export function refuseWebPage({ base_url }: Endpoint, model: string, { headers }: Response): void {
  if (!headers.get('content-type')?.includes('text/html')) return
  const problem = `${base_url} answered with a web page; check the base URL`
  throw new ModelError({ model, problem }, { kind: 'broken', billed: false, interrupted: true })
}
