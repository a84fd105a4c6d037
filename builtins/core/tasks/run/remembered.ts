import type { Message } from '#core/models/contract'
import type { Store } from '#platform/store/contract'
import { markUntrusted } from '#safety/net/contract'
import { callsOf, earlierExchanges, type RememberedCall, summariesIn, type TaskRow } from '../repository.ts'
import {
  charsOf,
  type Exchange,
  exchangeMessages,
  REMEMBERED_CHARS,
  REMEMBERED_TASKS,
  recentExchanges,
  rememberedMessages,
} from './prompt.ts'

/** Share of the session limits at which a summary is due, before the oldest exchanges are dropped. */
const FULL_SHARE = 0.75
/** Maximum length of the record of one task's calls, in characters. */
const RECORD_CHARS = 4_000

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
  const tasks = await earlierExchanges(store, row, REMEMBERED_TASKS)
  if (tasks.length === 0) return { messages: [] }
  const ids = tasks.map(({ task_id }) => task_id)
  const [summaries, calls] = [await summariesIn(store, ids), await callsOf(store, ids)]
  const exchanges = tasks.map(task => ({ ...task, record: recordOf(calls.get(task.task_id) ?? []) }))
  const at = exchanges.findIndex(({ task_id }) => summaries.has(task_id))
  const summary = summaries.get(exchanges[at]?.task_id ?? '')
  const open = summary
    ? [...exchanges.slice(0, at + 1), ...exchangesBefore(summary, exchanges.slice(at + 1))]
    : exchanges
  const fitting = recentExchanges(open)
  const isFull =
    fitting.length < open.length ||
    open.length >= REMEMBERED_TASKS * FULL_SHARE ||
    fitting.reduce((sum, exchange) => sum + charsOf(exchange), 0) >= REMEMBERED_CHARS * FULL_SHARE
  const remembered = rememberedMessages(fitting)
  const messages = [...(summary ? [carryMessage(summary)] : []), ...remembered]
  return { messages, ...(isFull ? { keeps: Math.ceil(remembered.length / 2) } : {}) }
}

/**
 * Returns the newest calls of a task as text. It depends on nothing else, so that later requests repeat the same bytes
 * and the provider's prompt cache holds.
 */
function recordOf(calls: readonly RememberedCall[]): string {
  let left = RECORD_CHARS
  const lines = calls.map(lineOf)
  const isTooMuch = (line: string) => {
    left -= line.length
    return left < 0
  }
  const from = lines.findLastIndex(isTooMuch) + 1
  const older = (calls[0]?.calls ?? 0) - (lines.length - from)
  const shown = [...(older > 0 ? [`(${older} earlier calls are left out)`] : []), ...lines.slice(from)]
  if (shown.length === 0) return ''
  return markUntrusted('what you did for the message above, with the beginnings of the results', shown.join('\n'))
}

function lineOf({ tool, args, state, is_error, outcome, chars }: RememberedCall): string {
  const text = (outcome ?? '').replace(/\s+/g, ' ').trim().toWellFormed()
  const result = `${is_error ? 'failed: ' : ''}${text}${chars > (outcome ?? '').length ? `… (${chars} characters)` : ''}`
  const missing = state === 'started' ? 'outcome unknown: the task ended during this call' : 'did not run'
  return `- ${tool} ${args.toWellFormed()} → ${state === 'done' ? result : missing}`
}

/** Returns the exchanges before the task of a summary that the summary does not cover or covers only in part. */
function exchangesBefore<E extends Exchange>({ summary, before }: Message & { before: number }, older: readonly E[]) {
  let left = (summary?.keeps ?? 0) - before
  return older.filter(exchange => {
    const isOpen = left > 0
    left -= exchangeMessages(exchange).length
    return isOpen
  })
}

/** Converts a summary for use in another task, where it covers all messages before it. */
function carryMessage({ before: _, summary, ...message }: Message & { before: number }): Message {
  return { ...message, ...(summary ? { summary: { ...summary, keeps: 0 } } : {}) }
}
