const NEWLINE = 0x0a

/** Splits a stream of bytes into lines. A line that exceeds the limit is reported once and skipped. */
export class LineSplitter {
  readonly #most: number
  readonly #line: (line: string) => void
  readonly #tooLong: (beginning: string) => void
  #parts: Buffer[] = []
  #bytes = 0
  #skips = false

  /** @param most maximum length of a line, in bytes */
  constructor(most: number, line: (line: string) => void, tooLong: (beginning: string) => void) {
    this.#most = most
    this.#line = line
    this.#tooLong = tooLong
  }

  add(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      this.#take(rest.subarray(0, end))
      this.end()
      rest = rest.subarray(end + 1)
    }
    this.#take(rest)
  }

  /** Emits the remaining bytes as the last line. */
  end(): void {
    const parts = this.#parts
    const isLine = this.#bytes > 0 && !this.#skips
    this.#parts = []
    this.#bytes = 0
    this.#skips = false
    if (isLine) this.#line(Buffer.concat(parts).toString())
  }

  #take(part: Buffer): void {
    if (this.#skips || part.length === 0) return
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#bytes <= this.#most) return
    const beginning = Buffer.concat(this.#parts).subarray(0, this.#most).toString()
    this.#parts = []
    this.#skips = true
    this.#tooLong(beginning)
  }
}
