/** Text that is written down already is kept in memory as far as readers are likely to be behind, in UTF-16 units. */
const KEPT = 8_192

/** A text that was shown, and the place after it. */
export interface Piece {
  until: number
  text: string
  /** The place after the reset that comes before it, where that is not written down yet. */
  reset?: number | undefined
}

/**
 * What a task that runs in this process has said so far, for any number of readers. Each reads from its own place and gets
 * all that came since in one piece, so a slow one costs nothing; what it missed for long it reads from the database. A reset
 * takes one unit of the places.
 */
export class LiveText {
  /** All that was shown since the last reset. */
  shown: string
  /** The place after the last reset; 0 before the first. */
  begin: number
  #text = ''
  /** The place of the first unit of `#text`. */
  #from: number
  /** Up to here it is written down. */
  #saved: number
  #ended = false
  #failure: unknown
  #waiting: (() => void)[] = []

  /** @param before what was shown before, by another process or before an approval */
  constructor({ until, text }: Piece) {
    this.shown = text
    this.begin = until - text.length
    this.#from = until
    this.#saved = until
  }

  get until(): number {
    return this.#from + this.#text.length
  }

  /** Whether something is not written down yet. */
  get isUnsaved(): boolean {
    return this.#saved < this.until
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  say(text: string): void {
    this.shown += text
    this.#text += text
    this.wake()
  }

  /** Takes back what was shown, where anything was. */
  reset(): void {
    if (this.shown === '') return
    this.begin = this.until + 1
    this.#from = this.begin
    this.#text = ''
    this.shown = ''
    this.wake()
  }

  /** No more comes; a failure is thrown to the readers, who have nothing else to go by then. */
  end(failure?: unknown): void {
    this.#ended = true
    this.#failure = failure
    this.wake()
  }

  /** What came after a place, an empty text for a reset: undefined when that is no longer in memory. */
  readAfter(place: number): Piece | undefined {
    if (place < this.begin) return { until: this.begin, text: '' }
    if (place < this.#from) return undefined
    const text = this.#text.slice(place - this.#from)
    return { until: place + text.length, text }
  }

  /** Whether all has been said. @throws the failure that kept the end from being written down */
  get isComplete(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#ended
  }

  /** Resolves when there is more, or no more to come, or the readers are woken. */
  waitForChange(): Promise<void> {
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
    const reset = this.#saved < this.begin ? this.begin : undefined
    const from = reset ?? this.#saved
    let text = this.#text.slice(from - this.#from)
    // The database takes no half of a surrogate pair; the other half comes with the next piece.
    if (!this.#ended && /[\ud800-\udbff]$/.test(text)) text = text.slice(0, -1)
    return text === '' && reset === undefined ? null : { until: from + text.length, text, reset }
  }

  /** It is written down up to a place; one that is repeated may not have said so much itself. */
  markWritten(until: number): void {
    this.#saved = Math.max(this.#saved, until)
    const from = this.until < this.#saved ? this.#saved : Math.min(this.#saved, this.until - KEPT)
    if (from <= this.#from) return
    this.#text = this.#text.slice(from - this.#from)
    this.#from = from
  }
}
