import type { Pieces } from '../call/limits.ts'

/**
 * A provider's answer, requested on first use. The iterator is hand-written because a generator would cost several
 * promises for each piece.
 */
export class LazyStream<T> implements AsyncIterableIterator<T, undefined>, Pieces<T> {
  readonly #open: () => Promise<Pieces<T, undefined>>
  #opening: Promise<Pieces<T, undefined>> | undefined
  #pieces: Pieces<T, undefined> | undefined

  constructor(open: () => Promise<Pieces<T, undefined>>) {
    this.#open = open
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#pieces ? this.#pieces.next() : this.#first()
  }

  async each(receive: (piece: T) => void): Promise<void> {
    const pieces = await this.#begin()
    if (pieces.each) return pieces.each(receive)
    for (let step = await pieces.next(); !step.done; step = await pieces.next()) receive(step.value)
  }

  async #first(): Promise<IteratorResult<T, undefined>> {
    return (await this.#begin()).next()
  }

  async #begin(): Promise<Pieces<T, undefined>> {
    this.#opening ??= this.#open()
    this.#pieces = await this.#opening
    return this.#pieces
  }

  /** Closes the answer; if its request is still being opened, waits for that first. */
  async return(): Promise<IteratorResult<T, undefined>> {
    const pieces = await this.#opening?.catch(() => undefined)
    await pieces?.return?.()
    return { done: true, value: undefined }
  }
}
