import { defineError, describeIssues, issuesOf, type Operation, type OperationContext, operation, z } from '#kernel'

/** One message of a stream. With an `id`, a disconnected client can resume after it. */
export interface StreamEvent {
  id?: string
  event: string
  data: unknown
}

/**
 * An operation that reports events until its generator ends or `call.signal` is aborted. If its events include `done`,
 * the stream must end with `done` or an error; a generator that ends without either has failed.
 */
export interface StreamOperation<I extends z.ZodObject = z.ZodObject>
  extends Omit<Operation<I>, 'output' | 'events' | 'render' | 'count' | 'run'> {
  /** Schemas of the events' data, by event name. `error` may be left out: it carries what the generator throws. */
  events: Readonly<Record<string, z.ZodType>>
  /** Formats an event for a terminal: a line, or nothing. */
  render?: (event: StreamEvent) => string | undefined
  run(input: z.output<I>, call: OperationContext): AsyncIterable<StreamEvent>
}

/** A stream ended without its last event. */
export const StreamCutError = defineError({
  code: 'stream_cut',
  status: 502,
  title: 'Stream interrupted',
  message: () => 'The stream ended before its last event; look up the result of the request, or repeat the request.',
})

/** Converts a stream operation to an operation. `invoke` returns its events, with data validated by their schemas. */
export function stream<I extends z.ZodObject>({ run, render, ...definition }: StreamOperation<I>): Operation {
  const made = operation({
    ...definition,
    output: z.custom<AsyncIterable<StreamEvent>>(),
    run: (input, call) => new Shaped(definition.events, run(input, call)),
  })
  return render ? { ...made, render: render as unknown as NonNullable<Operation['render']> } : made
}

/** Returns whether an operation's output is a stream of events. */
export function isStream(output: unknown): output is AsyncIterable<StreamEvent> {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output
}

type Step = IteratorResult<StreamEvent, undefined>
const END: Step = { done: true, value: undefined }

/**
 * Parses events by their schemas. Not a generator, so that `return` reaches the source at once, even while an event is
 * awaited.
 */
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
      const { error, data } = schema.safeParse(value.data)
      if (error) {
        throw new TypeError(`the stream's event "${value.event}" has invalid data: ${describeIssues(issuesOf(error))}`)
      }
      const shaped = { ...value, data }
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
