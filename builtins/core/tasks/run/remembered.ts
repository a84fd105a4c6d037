import type { Message } from '#core/models/contract'
import type { Store } from '#platform/store/contract'
import { earlierExchanges, summariesIn, type TaskRow } from '../repository.ts'
import { REMEMBERED_CHARS, REMEMBERED_TASKS, recentExchanges, rememberedMessages } from './prompt.ts'

/** A session that is remembered to this share of its bounds is summarised, before its oldest exchanges go. */
const FULL_SHARE = 0.75

/** The part of its session that a task reads. */
export interface SessionMemory {
  messages: readonly Message[]
  /** Newest messages to keep where the others are due for a summary, as the next exchanges would push them out. */
  keeps?: number
}

/** Returns the newest summary of a task's session, and the exchanges that it does not stand for. */
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

/** Exchanges before a task that the summary in it does not stand for: each is two messages. */
function exchangesBefore({ summary, before }: Message & { before: number }): number {
  return Math.ceil(Math.max(0, (summary?.keeps ?? 0) - before) / 2)
}

/** A summary at the beginning of another task stands for all before it. */
function carryMessage({ before: _, summary, ...message }: Message & { before: number }): Message {
  return { ...message, ...(summary ? { summary: { ...summary, keeps: 0 } } : {}) }
}
