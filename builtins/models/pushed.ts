/** Tells each piece as it comes, to the end of all; once the signal is aborted nobody wants more. What `tell` throws is its end. */
export type Push<T> = (tell: (piece: T) => void, signal: AbortSignal) => Promise<void>

/** A stream that comes by itself. Whoever hears it with `each` waits for nothing but its end; to iterate over it costs promises for each piece. */
export class Pushed<T> implements AsyncIterable<T> {
  readonly #push: Push<T>
  readonly #signal: AbortSignal

  constructor(push: Push<T>, signal: AbortSignal) {
    this.#push = push
    this.#signal = signal
  }

  each(tell: (piece: T) => void): Promise<void> {
    return this.#push(tell, this.#signal)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    const left = new AbortController()
    const waiting: T[] = []
    let wake = () => {}
    let over = false
    const end = () => {
      over = true
      wake()
    }
    const tell = (piece: T) => {
      waiting.push(piece)
      wake()
    }
    const pushing = this.#push(tell, AbortSignal.any([this.#signal, left.signal]))
    pushing.then(end, end)
    try {
      for (;;) {
        while (waiting.length > 0) yield waiting.shift()!
        if (over) return void (await pushing)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    } finally {
      left.abort()
    }
  }
}
