import { Message } from '#core/models/contract'
import { isEmptyAnswer, type PlannedCall } from '#core/runtime/contract'
import type { TranscriptRow } from '../repository.ts'

/** Share of the messages that may be kept which goes when there are more: a provider's prompt cache is lost each time. */
const PRUNED_SHARE = 0.25

/** What of a conversation is kept, besides its first message: what has this seq or a higher one, and a summary. */
export interface TranscriptRange {
  from: number
  summary: number | null
}

/** Numbers the messages of a pursuit. Results have their places right after their calls, so that they read in that order whenever they come. */
export class Transcript {
  readonly #rows: TranscriptRow[]
  /** Of results to the last answer, by the id by which the model knows the call. */
  readonly #places = new Map<string, number>()
  #next: number
  #chars = 0

  constructor(rows: readonly TranscriptRow[]) {
    this.#rows = [...rows]
    for (const row of rows) this.#chars += charsOf(row)
    this.#next = (rows.at(-1)?.seq ?? -1) + 1
    const last = rows.findLast(({ message }) => message.role === 'assistant')
    if (last) this.#reserve(last.seq + 1, last.message.tool_calls ?? [])
  }

  /** The messages in the order in which the model reads them. */
  get messages(): Message[] {
    this.#rows.sort((a, b) => a.seq - b.seq)
    return this.#rows.map(row => row.message)
  }

  /** About as many characters as its messages have. */
  get chars(): number {
    return this.#chars
  }

  /** Stores received messages and the answer, unless both are empty, and reserves the places of the calls' results. */
  answer(received: readonly Message[], message: Message, calls: readonly PlannedCall[]): TranscriptRow[] {
    const said = [...received, ...(isEmptyAnswer(message) ? [] : [message])]
    const added = said.map(each => ({ seq: this.#next++, message: toStoredMessage(each) }))
    this.#reserve(this.#next, calls)
    for (const row of added) this.#push(row)
    return added
  }

  /** Places one message after all others. */
  add(message: Message): TranscriptRow {
    const row = { seq: this.#next++, message: toStoredMessage(message) }
    this.#push(row)
    return row
  }

  outcome({ id }: PlannedCall, message: Message): TranscriptRow {
    const row = { seq: this.#places.get(id) ?? this.#next++, message: toStoredMessage(message) }
    this.#push(row)
    return row
  }

  #push(row: TranscriptRow): void {
    this.#rows.push(row)
    this.#chars += charsOf(row)
  }

  #reserve(from: number, calls: readonly { id: string }[]): void {
    this.#places.clear()
    calls.forEach(({ id }, n) => void this.#places.set(id, from + n))
    this.#next = Math.max(this.#next, from + calls.length)
  }

  /**
   * Drops the oldest once there are more than `max`, a quarter at once, so that a request keeps its beginning for as long: the first message (the goal) and the newest summary stay, and an assistant
   * message goes together with its results, never alone. What was said last stays whole, also when that is more than `max`.
   * @returns the seq from which messages are kept, and that of a summary before it; null when nothing had to go
   */
  prune(max: number): TranscriptRange | null {
    if (this.#rows.length <= max) return null
    this.#rows.sort((a, b) => a.seq - b.seq)
    const left = max - Math.floor(max * PRUNED_SHARE)
    let cut = this.#rows.length - Math.max(left - 1, 1)
    while (this.#rows[cut]?.message.role === 'tool') cut++
    // The results of the last turn stand at the end: it stays whole.
    if (cut >= this.#rows.length) cut = this.#rows.findLastIndex(({ message }) => message.role === 'assistant')
    const from = this.#rows[cut]?.seq
    if (from === undefined || cut <= 1) return null
    const gone = this.#rows.splice(1, cut - 1)
    for (const row of gone) this.#chars -= charsOf(row)
    const summary = gone.findLast(({ message }) => message.summary)
    const isNewest = summary && !this.#rows.some(({ message }) => message.summary)
    if (!isNewest) return { from, summary: null }
    this.#rows.splice(1, 0, summary)
    this.#chars += charsOf(summary)
    return { from, summary: summary.seq }
  }
}

/** Returns a message as it is when it is read from the database: what a recording compares is the same whether it was read or kept. */
function toStoredMessage(message: Message): Message {
  return Message.parse(message)
}

function charsOf({ message: { content, reasoning = '', tool_calls } }: TranscriptRow): number {
  return content.length + reasoning.length + (tool_calls ? JSON.stringify(tool_calls).length : 0)
}
