import type { ModelEvent, ModelRequest, ModelStream } from './contract.ts'
import { heardOrAbort } from './limits.ts'
import type { Target } from './names.ts'
import type { Hearing } from './repair/hearing.ts'

/** A model whose answers are understood, in whatever form it was asked. */
export interface Understood extends Target {
  /** Tells each event of an answer as it comes. @throws what the provider's stream throws, and the signal's reason at once */
  stream(request: ModelRequest, signal: AbortSignal, tell: (event: ModelEvent) => void): Promise<void>
  /** The same without streaming. */
  complete?(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]>
}

/** A provider that was asked, and how its answer is heard. */
export interface Asked {
  events: ModelStream
  hearing: Hearing
}

/**
 * Hears an answer to its end, and tells what was meant.
 * @param ask asks the provider, in the form that is now thought to be the right one
 * @param learns whether an error, before anything was said, shows that another form can help
 */
export async function understand(
  ask: () => Asked,
  learns: (error: unknown) => boolean,
  signal: AbortSignal,
  tell: (event: ModelEvent) => void,
): Promise<void> {
  let begun = false
  for (;;) {
    const { events, hearing } = ask()
    const hear = (piece: ModelEvent) => {
      begun = true
      for (const event of hearing.hear(piece)) tell(event)
    }
    try {
      return await (events.each
        ? heardOrAbort(signal, tell => events.each!(tell), hear)
        : iterated(signal, events[Symbol.asyncIterator](), hear))
    } catch (error) {
      if (begun || !learns(error)) throw error
    }
  }
}

/** Hears what has to be asked for piece by piece. */
async function iterated<T>(signal: AbortSignal, pieces: AsyncIterator<T>, hear: (piece: T) => void): Promise<void> {
  const telling = async (tell: (piece: T) => void) => {
    for await (const piece of { [Symbol.asyncIterator]: () => pieces }) tell(piece)
  }
  try {
    await heardOrAbort(signal, telling, hear)
  } catch (error) {
    // It may wait for something that never comes.
    void Promise.resolve(pieces.return?.()).catch(() => {})
    throw error
  }
}
