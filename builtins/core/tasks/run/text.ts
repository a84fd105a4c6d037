/** Amount of stored text kept in memory for readers that lag behind, in UTF-16 units. */
const KEPT = 8_192

/** A piece of shown text, and the position after it. */
export interface Piece {
  until: number
  text: string
  /** Position after the reset before this piece, if that reset is not stored yet. */
  reset?: number | undefined
}

/** An event of a tool call, for streams that show calls, and its position in the text. */
export interface CallEvent {
  at: number
  event: 'tool_result' | 'approval_requested'
  data: object
}

/**
 * Text of a task that runs in this process, for any number of readers. Each reads from its own position and gets all
 * newer text in one piece, so slow readers cost nothing. Text that is no longer in memory is read from the database. A
 * reset takes one unit of the positions.
 */
export class LiveText {
  /** All text shown since the last reset. */
  shown: string
  /** Position after the last reset; 0 before the first. */
  begin: number
  /** Events of this run's tool calls, in order. */
  readonly calls: CallEvent[] = []
  #text = ''
  /** Position of the first unit of `#text`. */
  #from: number
  /** Position up to which text is stored. */
  #saved: number
  #ended = false
  #failure: unknown
  #waiting: (() => void)[] = []

  /** @param before text shown earlier, by another process or before an approval */
  constructor({ until, text }: Piece) {
    this.shown = text
    this.begin = until - text.length
    this.#from = until
    this.#saved = until
  }

  get until(): number {
    return this.#from + this.#text.length
  }

  /** Whether some text is not stored yet. */
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

  addCall(event: CallEvent['event'], data: object): void {
    this.calls.push({ at: this.until, event, data })
    this.wake()
  }

  /** Withdraws the shown text, if there is any. */
  reset(): void {
    if (this.shown === '') return
    this.begin = this.until + 1
    this.#from = this.begin
    this.#text = ''
    this.shown = ''
    this.wake()
  }

  /** Ends the text. A failure is thrown to the readers, because no end was stored for them to read. */
  end(failure?: unknown): void {
    this.#ended = true
    this.#failure = failure
    this.wake()
  }

  /** Returns the text after a position, empty for a reset; undefined if it is no longer in memory. */
  readAfter(place: number): Piece | undefined {
    if (place < this.begin) return { until: this.begin, text: '' }
    if (place < this.#from) return undefined
    const text = this.#text.slice(place - this.#from)
    return { until: place + text.length, text }
  }

  /**
   * Whether the text is complete.
   * @throws the failure that prevented storing the end
   */
  get isComplete(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#ended
  }

  /** Resolves when there is more text, when the text ends, or on `wake`. */
  waitForChange(): Promise<void> {
    if (this.#ended) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** Wakes all waiting readers, for example because one of them should stop. */
  readonly wake = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const look of waiting) look()
  }

  /** Text that is not stored yet. */
  get piece(): Piece | null {
    const reset = this.#saved < this.begin ? this.begin : undefined
    const from = reset ?? this.#saved
    let text = this.#text.slice(from - this.#from)
    // The database cannot store half of a surrogate pair; it follows with the next piece.
    if (!this.#ended && /[\ud800-\udbff]$/.test(text)) text = text.slice(0, -1)
    return text === '' && reset === undefined ? null : { until: from + text.length, text, reset }
  }

  /** Marks text as stored up to a position. In a replay that position may be beyond the text of this run. */
  markWritten(until: number): void {
    this.#saved = Math.max(this.#saved, until)
    const from = this.until < this.#saved ? this.#saved : Math.min(this.#saved, this.until - KEPT)
    if (from <= this.#from) return
    this.#text = this.#text.slice(from - this.#from)
    this.#from = from
  }
}
