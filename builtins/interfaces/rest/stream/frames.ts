import type { StreamEvent } from '#lib/stream'

export const EVENT_STREAM = 'text/event-stream'

/** What keeps a silent stream from being taken for a dead one. */
export const COMMENT = ': still here\n\n'

/**
 * One event as it goes over the wire. Its data is one line of JSON, so that no text in it can forge another event.
 * @param hide takes secrets out of JSON
 */
export function frame({ id, event, data }: StreamEvent, hide: (json: string) => string): string {
  const known = id === undefined ? '' : `id: ${oneLine(id)}\n`
  return `${known}event: ${oneLine(event)}\ndata: ${hide(JSON.stringify(data) ?? 'null')}\n\n`
}

function oneLine(text: string): string {
  return /[\r\n\0]/.test(text) ? text.replace(/[\r\n\0]/g, '') : text
}
