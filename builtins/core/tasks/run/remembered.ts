import type { Message } from '#core/models/contract'
import type { Store } from '#platform/store/contract'
import { markUntrusted } from '#safety/net/contract'
import {
  callsOf,
  earlierExchanges,
  laterExchanges,
  type RememberedCall,
  summariesIn,
  type TaskExchange,
  type TaskRow,
} from '../repository.ts'
import {
  charsOf,
  type Exchange,
  exchangeMessages,
  meanwhileMessage,
  OLDER_LEFT_OUT,
  OPENING,
  REMEMBERED_CHARS,
  REMEMBERED_TASKS,
} from './prompt.ts'

/** Number of exchanges at which the older half of them is due for a summary, as it is at `REMEMBERED_CHARS`. */
const FULL_TASKS = REMEMBERED_TASKS * 0.75
/** Maximum length of the record of one task's calls, in characters. */
const RECORD_CHARS = 4_000

/** The part of its session's conversation that a task reads. */
export interface SessionMemory {
  messages: readonly Message[]
  /**
   * Number of newest messages to keep when older ones are due for a summary.
   */
  keeps?: number
}

/** Returns the newest summary of a task's session, and the exchanges that it does not cover. */
export async function sessionMemory(store: Store, row: TaskRow): Promise<SessionMemory> {
  const tasks = await earlierExchanges(store, row, REMEMBERED_TASKS)
  if (tasks.length === 0) return { messages: [OPENING] }
  const summaries = await summariesIn(
    store,
    tasks.map(({ task_id }) => task_id),
  )
  const exchanges = await withRecords(store, tasks)
  const at = exchanges.findIndex(({ task_id }) => summaries.has(task_id))
  const summary = summaries.get(exchanges[at]?.task_id ?? '')
  const open = summary
    ? [...exchanges.slice(0, at + 1), ...exchangesBefore(summary, exchanges.slice(at + 1))]
    : exchanges
  const isFull =
    open.length >= FULL_TASKS || open.reduce((sum, exchange) => sum + charsOf(exchange), 0) >= REMEMBERED_CHARS
  const older = summary ? [carryMessage(summary)] : tasks.length === REMEMBERED_TASKS ? [OLDER_LEFT_OUT] : []
  const messages = [OPENING, ...older, ...open.toReversed().flatMap(exchangeMessages)]
  return { messages, ...(isFull ? { keeps: newestHalf(open) } : {}) }
}

/**
 * Returns what the person wrote in the session since this task began, for a task that continues after it waited.
 * @param messages of the task, which report a part of it already if it waited before
 */
export async function meanwhile(store: Store, row: TaskRow, messages: readonly Message[]): Promise<Message[]> {
  const since = messages.findLast(each => each.reports_until !== undefined)?.reports_until ?? row.created_at
  const [newest, ...older] = await laterExchanges(store, row, since, REMEMBERED_TASKS)
  if (!newest) return []
  const exchanges = (await withRecords(store, [newest, ...older])).toReversed()
  return [{ ...meanwhileMessage(exchanges), reports_until: newest.created_at }]
}

/** Adds the records of their calls to exchanges. */
async function withRecords(store: Store, tasks: readonly TaskExchange[]) {
  const calls = await callsOf(
    store,
    tasks.map(({ task_id }) => task_id),
  )
  return tasks.map(task => ({ ...task, record: recordOf(calls.get(task.task_id) ?? [], task.stop) }))
}

/** Returns the number of messages of the newest exchanges that have half of the characters, at least of one. */
function newestHalf(exchanges: readonly Exchange[]): number {
  let left = Math.max(REMEMBERED_CHARS / 2, charsOf(exchanges[0]!))
  const most = Math.ceil(exchanges.length / 2)
  const kept = exchanges.slice(0, most).filter(exchange => {
    left -= charsOf(exchange)
    return left >= 0
  })
  return kept.flatMap(exchangeMessages).length
}

/**
 * Returns the newest calls of a task as text. It depends on nothing else, so that later requests repeat the same bytes
 * and the provider's prompt cache holds.
 * @param stop why the task has no full answer
 */
function recordOf(calls: readonly RememberedCall[], stop: TaskExchange['stop']): string {
  let left = RECORD_CHARS
  const lines = calls.map(call => lineOf(call, stop))
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

function lineOf({ tool, args, state, is_error, outcome, chars }: RememberedCall, stop: TaskExchange['stop']): string {
  const text = (outcome ?? '').replace(/\s+/g, ' ').trim().toWellFormed()
  const result = `${is_error ? 'failed: ' : ''}${text}${chars > (outcome ?? '').length ? `… (${chars} characters)` : ''}`
  const planned = stop?.startsWith('waiting') ? 'waits for the decision of a person' : 'did not run'
  const started = state === 'started' ? 'outcome unknown: the task ended during this call' : planned
  const missing = stop === 'running' ? 'has no result yet' : started
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
