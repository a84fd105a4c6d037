import { createHash } from 'node:crypto'

/** The event log of a world: one line for each thing that happened, in order. */
export class Journal {
  readonly lines: string[] = []
  readonly #hash = createHash('sha256')
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  write(what: string, about: object = {}): void {
    const line = `${JSON.stringify({ at_ms: Math.round(this.#now() * 1000) / 1000, what, ...about })}\n`
    this.lines.push(line)
    this.#hash.update(line)
  }

  /** Of all lines so far. */
  get hash(): string {
    return this.#hash.copy().digest('hex')
  }
}
