import { createHash } from 'node:crypto'

/** The event log of a simulated run: one line for each thing that happened, in order. */
export class Journal {
  readonly lines: string[] = []
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  write(what: string, about: object = {}): void {
    this.lines.push(`${JSON.stringify({ at_ms: Math.round(this.#now() * 1000) / 1000, what, ...about })}\n`)
  }

  /** SHA-256 of all lines so far. */
  get hash(): string {
    return createHash('sha256').update(this.lines.join('')).digest('hex')
  }
}
