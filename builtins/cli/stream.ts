import type { Operation, StreamEvent } from '#kernel'
import type { Context } from './context.ts'
import { endIn, endOf } from './end.ts'
import { printable, printableJson } from './printable.ts'

interface Shown {
  text?: unknown
  message?: unknown
}

/**
 * Writes the events of a stream as they come: for programs a line of JSON each, for people the text of tokens as it grows and
 * a line for all else.
 * @param signal aborted by Ctrl-C; after that people are shown nothing more
 * @returns the exit code: 1 when the stream ends with a failure
 */
export async function showStream(
  events: AsyncIterable<StreamEvent>,
  render: Operation['render'],
  { terminal, json }: Context,
  signal: AbortSignal,
): Promise<number> {
  let grown = false
  let exit = 0
  for await (const event of events) {
    const data = event.data as Shown
    const end = endIn(event)
    if (end?.status === 'failed') exit = 1
    if (json) {
      terminal.out(printableJson(JSON.stringify(event)))
    } else if (signal.aborted) {
      // Its end would speak of a client that went away, which is the person at this terminal.
    } else if (render) {
      terminal.out(printable(render(event as never) ?? ''))
    } else if (event.event === 'token') {
      terminal.part(printable(String(data.text)))
      grown = true
    } else if (end) {
      // Text that was shown as it came is not shown again.
      if (grown) terminal.part('\n')
      else terminal.out(printable(end.output ?? ''))
      terminal.err(printable(endOf(end)))
    } else terminal.err(printable(`${event.event}: ${data.message ?? JSON.stringify(event.data)}`))
  }
  return exit
}
