import { createParser } from 'eventsource-parser'
import { MAX_STREAM_BYTES, tooLarge } from './fetch.ts'

/**
 * The data of a stream's events, those that came together at once
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). The `openai` package reads a stream through five layers of
 * generators, which for pieces as small as words costs more than all the rest of an answer.
 * @throws RangeError when it is larger than any answer can be
 */
export async function* dataOf({ body }: Response): AsyncGenerator<string[], void> {
  if (!body) return
  const decoder = new TextDecoder()
  let data: string[] = []
  const events = createParser({ onEvent: event => void data.push(event.data) })
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > MAX_STREAM_BYTES) throw tooLarge(MAX_STREAM_BYTES)
    events.feed(decoder.decode(piece, { stream: true }))
    if (data.length === 0) continue
    yield data
    data = []
  }
}
