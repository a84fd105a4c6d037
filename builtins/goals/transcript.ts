import type { Message } from '../models/contract.ts'
import { isEmptyAnswer, type PlannedCall } from '../runtime/contract.ts'
import type { TranscriptRow } from './repository.ts'

/** Numbers the messages of a pursuit. Results have their places right after their calls, so that they read in that order whenever they come. */
export class Transcript {
  readonly #rows: TranscriptRow[]
  /** Of results, by the id by which the model knows the call. */
  readonly #places = new Map<string, number>()
  #next: number

  constructor(rows: readonly TranscriptRow[]) {
    this.#rows = [...rows]
    this.#next = (rows.at(-1)?.seq ?? -1) + 1
    const last = rows.findLast(({ message }) => message.role === 'assistant')
    if (last) this.#reserve(last.seq + 1, last.message.tool_calls ?? [])
  }

  get messages(): Message[] {
    return this.#rows.map(row => row.message)
  }

  /** Places what was heard and answered, unless that says nothing, and reserves the places of the calls' results. */
  answer(heard: readonly Message[], message: Message, calls: readonly PlannedCall[]): TranscriptRow[] {
    const added = [...heard, ...(isEmptyAnswer(message) ? [] : [message])].map(each => ({
      seq: this.#next++,
      message: each,
    }))
    this.#reserve(this.#next, calls)
    this.#rows.push(...added)
    return added
  }

  outcome({ id }: PlannedCall, message: Message): TranscriptRow {
    const row = { seq: this.#places.get(id) ?? this.#next++, message }
    this.#rows.push(row)
    return row
  }

  #reserve(from: number, calls: readonly { id: string }[]): void {
    calls.forEach(({ id }, n) => void this.#places.set(id, from + n))
    this.#next = Math.max(this.#next, from + calls.length)
  }

  /**
   * Drops the oldest so that at most `max` are kept: the first message (the goal) stays, and an assistant message goes
   * together with its results, never alone. What was said last stays whole, also when that is more than `max`.
   * @returns the seq from which messages are kept, besides the first; null when nothing had to go
   */
  prune(max: number): number | null {
    if (this.#rows.length <= max) return null
    this.#rows.sort((a, b) => a.seq - b.seq)
    let cut = this.#rows.length - Math.max(max - 1, 1)
    while (this.#rows[cut]?.message.role === 'tool') cut++
    // The results of the last turn stand at the end: it stays whole.
    if (cut >= this.#rows.length) cut = this.#rows.findLastIndex(({ message }) => message.role === 'assistant')
    const first = this.#rows[0]
    const kept = this.#rows.slice(cut)
    const from = kept[0]?.seq
    if (!first || from === undefined || cut <= 1) return null
    this.#rows.splice(0, this.#rows.length, first, ...kept)
    return from
  }
}
