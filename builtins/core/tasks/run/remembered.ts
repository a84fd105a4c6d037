import type { Message } from '#core/models/contract'
import type { Store } from '#platform/store/contract'
import { earlierExchanges, summariesIn, type TaskRow } from '../repository.ts'
import { REMEMBERED_CHARS, REMEMBERED_TASKS, recentExchanges, rememberedMessages } from './prompt.ts'

/** Share of the session limits at which a summary is due, before the oldest exchanges are dropped. */
const FULL_SHARE = 0.75

/** The part of its session's conversation that a task reads. */
export interface SessionMemory {
  messages: readonly Message[]
  /**
   * Number of newest messages to keep when older ones are due for a summary, because the next exchanges would displace
   * them.
   */
  keeps?: number
}

/** Returns the newest summary of a task's session, and the exchanges that it does not cover. */
export async function sessionMemory(store: Store, row: TaskRow): Promise<SessionMemory> {
  const exchanges = await earlierExchanges(store, row, REMEMBERED_TASKS)
  if (exchanges.length === 0) return { messages: [] }
  const summaries = await summariesIn(
    store,
    exchanges.map(({ task_id }) => task_id),
  )
  const at = exchanges.findIndex(({ task_id }) => summaries.has(task_id))
  const summary = summaries.get(exchanges[at]?.task_id ?? '')
  const open = summary ? exchanges.slice(0, at + 1 + exchangesBefore(summary)) : exchanges
  const fitting = recentExchanges(open)
  const chars = fitting.reduce((sum, { instruction, output }) => sum + instruction.length + output.length, 0)
  const isFull =
    fitting.length < open.length ||
    open.length >= REMEMBERED_TASKS * FULL_SHARE ||
    chars >= REMEMBERED_CHARS * FULL_SHARE
  const messages = [...(summary ? [carryMessage(summary)] : []), ...rememberedMessages(fitting)]
  return { messages, ...(isFull ? { keeps: fitting.length } : {}) }
}

/** Returns the number of exchanges before the task that its summary does not cover. Each exchange has two messages. */
function exchangesBefore({ summary, before }: Message & { before: number }): number {
  return Math.ceil(Math.max(0, (summary?.keeps ?? 0) - before) / 2)
}

/** Converts a summary for use in another task, where it covers all messages before it. */
function carryMessage({ before: _, summary, ...message }: Message & { before: number }): Message {
  return { ...message, ...(summary ? { summary: { ...summary, keeps: 0 } } : {}) }
}
