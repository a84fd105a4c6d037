import type { Target } from '../catalogue/names.ts'
import type { ModelEvent, ModelRequest } from '../contract.ts'
import type { ToolCallReader } from '../repair/tool-call-reader.ts'
import { eachOrAbort } from './limits.ts'

/** A model whose requests and answers are converted to the common form. */
export interface AdaptedTarget extends Target {
  /**
   * Streams an answer, and calls `report` with each event. @throws what the provider's stream throws, and the signal's
   * reason at once
   */
  stream(request: ModelRequest, signal: AbortSignal, report: (event: ModelEvent) => void): Promise<void>
  /** Returns all events of an answer, without streaming. */
  complete?(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]>
}

/** A request in progress, and the parser of its answer. */
export interface OpenAnswer {
  events: AsyncIterable<ModelEvent>
  reader: ToolCallReader
}

/**
 * Reads an answer to its end, and repairs its tool calls.
 * @param ask sends the request in the form that is currently believed to work
 * @param learn returns whether an error shows that another form can help
 */
export async function readAnswer(
  ask: () => Promise<OpenAnswer>,
  learn: (error: unknown) => Promise<boolean>,
  signal: AbortSignal,
  report: (event: ModelEvent) => void,
): Promise<void> {
  for (let begun = false; ; ) {
    const { events, reader } = await ask()
    const pieces = events[Symbol.asyncIterator]()
    try {
      return await eachOrAbort(signal, pieces, piece => {
        begun = true
        for (const event of reader.receive(piece)) report(event)
      })
    } catch (error) {
      void Promise.resolve(pieces.return?.()).catch(() => {})
      // What an error in the middle of an answer shows is used by the next attempt.
      if (!(await learn(error)) || begun) throw error
    }
  }
}
