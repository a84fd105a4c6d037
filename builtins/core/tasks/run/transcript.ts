import type { Message } from '#core/models/contract'
import { isEmptyAnswer, type PlannedCall } from '#core/runtime/contract'

/** A message with its position in the task's conversation. */
export interface MessageRow {
  seq: number
  message: Message
}

/**
 * Numbers a task's messages. Results get their positions when their calls are planned, so that they appear in the order
 * of the calls.
 */
export class Transcript {
  readonly messages: readonly Message[]
  readonly #places = new Map<string, number>()
  #next: number

  /** @param rows stored messages; calls at their end without results keep their positions */
  constructor(rows: readonly MessageRow[]) {
    this.messages = rows.map(row => row.message)
    this.#next = (rows.at(-1)?.seq ?? -1) + 1
    const last = rows.findLast(row => row.message.role === 'assistant')
    if (last) this.#reserve(last.message, last.seq + 1)
  }

  /** Adds the received messages and the answer, unless the answer is empty. */
  answer(received: readonly Message[], message: Message): MessageRow[] {
    const rows = [...received, ...(isEmptyAnswer(message) ? [] : [message])].map((each, n) => ({
      seq: this.#next + n,
      message: each,
    }))
    this.#next += rows.length
    this.#reserve(message, this.#next)
    return rows
  }

  /** Adds a message after all others. */
  add(message: Message): MessageRow {
    return { seq: this.#next++, message }
  }

  outcome({ id }: PlannedCall, message: Message): MessageRow {
    return { seq: this.#places.get(id) ?? this.#next++, message }
  }

  #reserve({ tool_calls = [] }: Message, from: number): void {
    for (const [n, { id }] of tool_calls.entries()) this.#places.set(id, from + n)
    this.#next = Math.max(this.#next, from + tool_calls.length)
  }
}
