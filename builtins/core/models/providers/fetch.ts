const MiB = 1024 * 1024
/** Each piece of a stream comes in some 300 bytes of its own. */
export const MAX_STREAM_BYTES = 64 * MiB
const MAX_BODY_BYTES = 8 * MiB

/**
 * The response with a body that fails once it is larger than any answer can be.
 * @param streams whether that goes for streams of events too; who reads one may count itself, at a fraction of the cost
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

/** Whether an answer is a stream of events. */
export function isStream({ headers }: Pick<Response, 'headers'>): boolean {
  return headers.get('content-type')?.includes('text/event-stream') ?? false
}

/** @param limit bytes */
export function tooLarge(limit: number): RangeError {
  return new RangeError(`the answer is larger than ${limit / MiB} MiB`)
}
