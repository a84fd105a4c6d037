import type { Operation, StreamEvent } from '#kernel'
import type { Context } from './context.ts'
import { type End, endOf } from './end.ts'
import { printable, printableJson } from './printable.ts'

type Shown = End & { text?: unknown; output?: unknown; message?: unknown }

/**
 * Tells the events of a stream as they come: for programs a line of JSON each, for people the text of tokens as it grows and
 * a line for all else.
 * @returns 1 when its end says that what it was about failed
 */
export async function showStream(
  events: AsyncIterable<StreamEvent>,
  render: Operation['render'],
  { terminal, json }: Context,
): Promise<number> {
  let grown = false
  let exit = 0
  for await (const event of events) {
    const data = event.data as Shown
    if (event.event === 'done' && data.status === 'failed') exit = 1
    if (json) {
      terminal.out(printableJson(JSON.stringify(event)))
    } else if (render) {
      terminal.out(printable(render(event as never) ?? ''))
    } else if (event.event === 'token') {
      terminal.part(printable(String(data.text)))
      grown = true
    } else if (event.event === 'done') {
      // What has grown before everybody's eyes is not told again.
      if (grown) terminal.part('\n')
      else terminal.out(printable(String(data.output ?? '')))
      terminal.err(printable(endOf(data)))
    } else terminal.err(printable(`${event.event}: ${data.message ?? JSON.stringify(event.data)}`))
  }
  return exit
}
