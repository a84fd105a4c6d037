/** Text that is written down already is kept in memory as far as readers are likely to be behind, in UTF-16 units. */
const KEPT = 8_192

/** A text that was told, and the place after it. */
export interface Piece {
  until: number
  text: string
}

/**
 * What a task that runs in this process has said so far, for any number of readers. Each reads from its own place and gets
 * all that came since in one piece, so a slow one costs nothing; what it missed for long it reads from the database.
 */
export class LiveText {
  #text = ''
  /** The place of the first unit of `#text`. */
  #from: number
  /** Up to here it is written down. */
  #saved: number
  #ended = false
  #failure: unknown
  #waiting: (() => void)[] = []

  /** @param from the place after what was said before, by another process or before an approval */
  constructor(from: number) {
    this.#from = from
    this.#saved = from
  }

  get until(): number {
    return this.#from + this.#text.length
  }

  /** Whether something is not written down yet. */
  get unsaved(): boolean {
    return this.#saved < this.until
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  say(text: string): void {
    this.#text += text
    this.wake()
  }

  /** No more comes; a failure is thrown to the readers, who have nothing else to go by then. */
  end(failure?: unknown): void {
    this.#ended = true
    this.#failure = failure
    this.wake()
  }

  /** What came after a place: undefined when that is no longer in memory. */
  after(place: number): string | undefined {
    return place >= this.#from ? this.#text.slice(place - this.#from) : undefined
  }

  /** Whether all has been said. @throws the failure that kept the end from being written down */
  get over(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#ended
  }

  /** Resolves when there is more, or no more to come, or somebody wakes the readers. */
  changed(): Promise<void> {
    if (this.#ended) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** Has the readers look again: one of them is to read no more. */
  readonly wake = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const look of waiting) look()
  }

  /** What is not written down yet. */
  get piece(): Piece | null {
    let text = this.#text.slice(this.#saved - this.#from)
    // The database takes no half of a surrogate pair; the other half comes with the next piece.
    if (!this.#ended && /[\ud800-\udbff]$/.test(text)) text = text.slice(0, -1)
    return text === '' ? null : { until: this.#saved + text.length, text }
  }

  /** It is written down up to a place; one that is repeated may not have said so much itself. */
  wrote(until: number): void {
    this.#saved = Math.max(this.#saved, until)
    const from = this.until < this.#saved ? this.#saved : Math.min(this.#saved, this.until - KEPT)
    if (from <= this.#from) return
    this.#text = this.#text.slice(from - this.#from)
    this.#from = from
  }
}
