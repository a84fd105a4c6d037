import type { EventMessage } from 'fastify'
import type { StreamEvent } from '#lib/stream'

export const EVENT_STREAM = 'text/event-stream'

/** Text of comment lines that keep a silent stream from being taken for a dead one. */
export const COMMENT = ' still here'

/**
 * Returns an event in the form of `reply.sse`. Its data is one line of JSON, so that no text in it can forge another
 * event.
 * @param hide masks secrets in JSON
 */
export function messageOf({ id, event, data }: StreamEvent, hide: (json: string) => string): EventMessage {
  return {
    ...(id === undefined ? {} : { id: oneLine(id) }),
    event: oneLine(event),
    data: hide(JSON.stringify(data) ?? 'null'),
  }
}

function oneLine(text: string): string {
  return /[\r\n\0]/.test(text) ? text.replace(/[\r\n\0]/g, '') : text
}
