import { defineError, type Operation, type OperationContext, operation, z } from '#kernel'

/** One message of a stream. With an `id` a client that was cut off can go on after it. */
export interface StreamEvent {
  id?: string
  event: string
  data: unknown
}

/**
 * An operation that reports what happens as it happens, until its generator ends or `call.signal` is aborted. One that
 * has an
 * event `done` ends with it, or with an error: nothing comes after it, and a generator that ends without has failed.
 */
export interface StreamOperation<I extends z.ZodObject = z.ZodObject>
  extends Omit<Operation<I>, 'output' | 'events' | 'render' | 'count' | 'run'> {
  /** Data by the name of the event, each a schema. An `error` need not be among them: it is what the generator throws. */
  events: Readonly<Record<string, z.ZodType>>
  /** An event for people on a terminal: a line, or nothing. */
  render?: (event: StreamEvent) => string | undefined
  run(input: z.output<I>, call: OperationContext): AsyncIterable<StreamEvent>
}

/** A stream that has a last event came to its end without it. */
export const StreamCutError = defineError({
  code: 'stream_cut',
  status: 502,
  title: 'Stream cut',
  message: () => 'The stream ended before its last event; what came of it can be asked for, or the request repeated.',
})

/** Makes an operation of a stream. `invoke` gives its events; each one's data has the shape of its schema. */
export function stream<I extends z.ZodObject>({ run, render, ...definition }: StreamOperation<I>): Operation {
  const made = operation({
    ...definition,
    output: z.custom<AsyncIterable<StreamEvent>>(),
    run: (input, call) => new Shaped(definition.events, run(input, call)),
  })
  return render ? { ...made, render: render as unknown as NonNullable<Operation['render']> } : made
}

/** Whether an operation's output is a stream of events. */
export function isStream(output: unknown): output is AsyncIterable<StreamEvent> {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output
}

type Step = IteratorResult<StreamEvent, undefined>
const END: Step = { done: true, value: undefined }

/** Events by their schemas. No generator: `return` reaches the source at once, also while an event of it is awaited. */
class Shaped implements AsyncIterableIterator<StreamEvent> {
  readonly #events: StreamOperation['events']
  readonly #source: AsyncIterator<StreamEvent>
  #over = false

  constructor(events: StreamOperation['events'], source: AsyncIterable<StreamEvent>) {
    this.#events = events
    this.#source = source[Symbol.asyncIterator]()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Step> {
    if (this.#over) return END
    try {
      const { done, value } = await this.#source.next()
      if (this.#over) return END
      if (done) {
        if (this.#events.done) throw new StreamCutError()
        this.#over = true
        return END
      }
      const schema = this.#events[value.event]
      if (!schema) throw new Error(`the stream has no event "${value.event}"; declare it in \`events\``)
      const shaped = { ...value, data: schema.parse(value.data) }
      if (value.event === 'done' || value.event === 'error') this.#close()
      return { done: false, value: shaped }
    } catch (error) {
      this.#close()
      throw error
    }
  }

  async return(): Promise<Step> {
    this.#over = true
    await this.#source.return?.()
    return END
  }

  #close(): void {
    this.return().catch(() => {})
  }
}
