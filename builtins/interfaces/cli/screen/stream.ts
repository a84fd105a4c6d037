import type { Operation } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { describeTaskEnd } from '#lib/task-end'
import type { Context } from '../context.ts'
import { GrowingAnswer } from './growing.ts'
import { printable, printableJson } from './printable.ts'
import { callLineOf, endIn } from './task-end.ts'

interface ShownEvent {
  text?: unknown
  message?: unknown
}

/**
 * Prints the events of a stream as they arrive: for programs a line of JSON each, for people the answer and a line for
 * each other event.
 * @param signal aborted by Ctrl-C; after that nothing more is printed for people
 * @returns the exit code: 1 when the stream ends with a failure, or its task without an answer
 */
export async function showStream(
  events: AsyncIterable<StreamEvent>,
  render: Operation['render'],
  { terminal, json }: Context,
  signal: AbortSignal,
): Promise<number> {
  const answer = new GrowingAnswer(terminal)
  let exit = 0
  for await (const event of events) {
    const data = event.data as ShownEvent
    const end = endIn(event)
    const call = render ? undefined : callLineOf(event)
    if (end && (end.status ?? 'completed') !== 'completed') exit = 1
    if (json) {
      if (call === undefined) terminal.out(printableJson(JSON.stringify(event)))
    } else if (signal.aborted) {
      // After Ctrl-C, the last event would report a disconnected client, which is the person at this terminal.
    } else if (render) {
      const line = render(event as never)
      if (line) terminal.out(printable(line))
    } else if (call !== undefined) {
      answer.call(call)
    } else if (event.event === 'token') {
      answer.grow(String(data.text))
    } else if (event.event === 'reset') {
      answer.reset()
    } else if (end) {
      answer.end(end)
      terminal.err(printable(describeTaskEnd(end)))
    } else terminal.err(printable(`${event.event}: ${data.message ?? JSON.stringify(event.data)}`))
  }
  return exit
}
