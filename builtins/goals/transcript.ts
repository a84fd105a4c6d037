import type { Message } from '../models/contract.ts'
import type { PlannedCall } from '../runtime/contract.ts'
import type { TranscriptRow } from './repository.ts'

/** Numbers the messages of a pursuit. Results get their places when their calls are planned, so that they read in that order. */
export class Transcript {
  readonly #rows: TranscriptRow[]
  readonly #places = new Map<string, number>()
  #next: number

  constructor(rows: readonly TranscriptRow[]) {
    this.#rows = [...rows]
    this.#next = (rows.at(-1)?.seq ?? -1) + 1
  }

  get messages(): Message[] {
    return this.#rows.map(row => row.message)
  }

  /** Places what was heard and answered, and reserves the places of the calls' results. */
  answer(heard: readonly Message[], message: Message, calls: readonly PlannedCall[]): TranscriptRow[] {
    const added = [...heard, message].map(each => ({ seq: this.#next++, message: each }))
    for (const { call_id } of calls) this.#places.set(call_id, this.#next++)
    this.#rows.push(...added)
    return added
  }

  outcome({ call_id }: PlannedCall, message: Message): TranscriptRow {
    const row = { seq: this.#places.get(call_id) ?? this.#next++, message }
    this.#rows.push(row)
    return row
  }

  /**
   * Drops the oldest so that at most `max` are kept: the first message (the goal) stays, and an assistant message goes
   * together with its results, never alone.
   * @returns the seq from which messages are kept, besides the first; null when nothing had to go
   */
  prune(max: number): number | null {
    if (this.#rows.length <= max) return null
    this.#rows.sort((a, b) => a.seq - b.seq)
    let cut = this.#rows.length - Math.max(max - 1, 1)
    while (cut < this.#rows.length - 1 && this.#rows[cut]?.message.role === 'tool') cut++
    const first = this.#rows[0]
    const kept = this.#rows.slice(cut)
    const from = kept[0]?.seq
    if (!first || from === undefined || cut <= 1) return null
    this.#rows.splice(0, this.#rows.length, first, ...kept)
    return from
  }
}
