import { Message } from '#core/models/contract'
import { isEmptyAnswer, type PlannedCall } from '#core/runtime/contract'
import type { TranscriptRow } from '../repository.ts'

/**
 * Share of the maximum number of messages that is dropped at once, because each drop invalidates the provider's prompt
 * cache.
 */
const PRUNED_SHARE = 0.25

/** Messages kept besides the first one: those from the seq `from` on, and a summary. */
export interface TranscriptRange {
  from: number
  summary: number | null
}

/**
 * Numbers the messages of a pursuit. Results get the numbers right after their calls, so that their order does not
 * depend on when they arrive.
 */
export class Transcript {
  readonly #rows: TranscriptRow[]
  /** Reserved seqs of results to the last answer, by the model's call id. */
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

  /** Approximate number of characters of its messages. */
  get chars(): number {
    return this.#chars
  }

  /** Stores received messages and the answer, unless both are empty, and reserves the places of the calls' results. */
  answer(received: readonly Message[], message: Message, calls: readonly PlannedCall[]): TranscriptRow[] {
    const messages = [...received, ...(isEmptyAnswer(message) ? [] : [message])]
    const added = messages.map(each => ({ seq: this.#next++, message: toStoredMessage(each) }))
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
   * Drops the oldest messages once there are more than `max`, a quarter at once, so that the beginning of requests
   * changes rarely; where it is enough, only those that the newest summary covers. The first message (the goal) and the
   * newest summary stay; an assistant message goes together with its results. The last turn stays whole, even when it
   * is longer than `max`.
   * @returns the seq from which messages are kept, and that of a summary before it; null when nothing was dropped
   */
  prune(max: number): TranscriptRange | null {
    if (this.#rows.length <= max) return null
    this.#rows.sort((a, b) => a.seq - b.seq)
    const left = max - Math.floor(max * PRUNED_SHARE)
    let cut = this.#rows.length - Math.max(left - 1, 1)
    const summarized = this.#summarizedEnd()
    if (this.#rows.length - (summarized - 1) <= max) cut = Math.min(cut, summarized)
    while (this.#rows[cut]?.message.role === 'tool') cut++
    // The results of the last turn come last, and that turn stays whole.
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

  /** Index of the first message after the goal that the newest summary does not cover; 1 without a summary. */
  #summarizedEnd(): number {
    let at = this.#rows.findLastIndex(({ message }) => message.summary)
    let keeps = this.#rows[at]?.message.summary?.keeps ?? 0
    while (keeps > 0 && at > 1) if (!this.#rows[--at]!.message.summary) keeps--
    return Math.max(at, 1)
  }
}

/**
 * Returns a message in the form in which the database returns it, so that recordings match whether it was read or
 * cached.
 */
function toStoredMessage(message: Message): Message {
  return Message.parse(message)
}

function charsOf({ message: { content, reasoning = '', tool_calls } }: TranscriptRow): number {
  return content.length + reasoning.length + (tool_calls ? JSON.stringify(tool_calls).length : 0)
}
