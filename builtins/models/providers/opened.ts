/**
 * What a provider says, asked for when somebody first wants to hear it. It is an iterator made by hand: a generator in between
 * costs some promises for each piece of an answer.
 */
export class Opened<T> implements AsyncIterableIterator<T, undefined> {
  readonly #open: () => Promise<AsyncIterator<T, undefined>>
  #opening: Promise<AsyncIterator<T, undefined>> | undefined
  #pieces: AsyncIterator<T, undefined> | undefined

  constructor(open: () => Promise<AsyncIterator<T, undefined>>) {
    this.#open = open
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#pieces ? this.#pieces.next() : this.#first()
  }

  async #first(): Promise<IteratorResult<T, undefined>> {
    this.#opening = this.#open()
    this.#pieces = await this.#opening
    return this.#pieces.next()
  }

  /** Leaves what is open, or will be. */
  async return(): Promise<IteratorResult<T, undefined>> {
    const pieces = await this.#opening?.catch(() => undefined)
    await pieces?.return?.()
    return { done: true, value: undefined }
  }
}
