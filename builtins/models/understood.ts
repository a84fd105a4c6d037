import type { ModelEvent } from './contract.ts'
import type { Hearing } from './repair/hearing.ts'

/** A provider that was asked, and how its answer is heard. */
export interface Asked {
  events: AsyncIterable<ModelEvent>
  hearing: Hearing
}

/**
 * A provider's stream, understood. It is an iterator made by hand: a generator in between costs some ten promises for each
 * piece of an answer.
 */
export class UnderstoodStream implements AsyncIterableIterator<ModelEvent> {
  readonly #ask: () => Asked
  readonly #learns: (error: unknown) => boolean
  #asked: { events: AsyncIterator<ModelEvent>; hearing: Hearing } | undefined
  #waiting: ModelEvent[] = []
  #begun = false

  /**
   * @param ask asks the provider, in the form that is now thought to be the right one
   * @param learns whether an error, before anything was said, shows that another form can help
   */
  constructor(ask: () => Asked, learns: (error: unknown) => boolean) {
    this.#ask = ask
    this.#learns = learns
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    const value = this.#waiting.shift()
    if (value) return Promise.resolve({ done: false, value })
    try {
      return this.#events().next().then(this.#heard, this.#failed)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    await this.#asked?.events.return?.()
    return { done: true, value: undefined }
  }

  #events(): AsyncIterator<ModelEvent> {
    if (!this.#asked) {
      const { events, hearing } = this.#ask()
      this.#asked = { events: events[Symbol.asyncIterator](), hearing }
    }
    return this.#asked.events
  }

  readonly #heard = (
    result: IteratorResult<ModelEvent>,
  ): IteratorResult<ModelEvent> | Promise<IteratorResult<ModelEvent>> => {
    if (result.done) return { done: true, value: undefined }
    this.#begun = true
    this.#waiting.push(...this.#asked!.hearing.hear(result.value))
    const value = this.#waiting.shift()
    return value ? { done: false, value } : this.next()
  }

  readonly #failed = (error: unknown): Promise<IteratorResult<ModelEvent>> => {
    if (this.#begun || !this.#learns(error)) throw error
    this.#asked = undefined
    return this.next()
  }
}
