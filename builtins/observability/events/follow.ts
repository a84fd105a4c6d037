import { defineError, type PluginHandle } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { newestSeq, Store } from '#platform/store/contract'
import type { Notices } from './notices.ts'
import { type EventFilter, eventsBetween, newestSeqs, oldestSeq } from './repository.ts'
import type { Tail } from './tail.ts'

/** Number of sequence numbers read at a time, so that a filter with few matches does not block other work. */
const SPAN = 1_000

export const EventsGoneError = defineError({
  code: 'events_gone',
  status: 410,
  title: 'Events no longer kept',
  message: (p: { after: number; oldest: number }) =>
    `The events after ${p.after} are no longer kept; the oldest is ${p.oldest}. Continue with after=${p.oldest - 1}, or with after=0 for all that are kept.`,
})

export interface FollowOptions extends EventFilter {
  /** Sequence number after which to resume; by default from the end. */
  after?: number | undefined
  /** Number of newest matching events to begin with. */
  last?: number | undefined
  /** Whether to wait for new events; otherwise the stream ends at the current end of the log. */
  follow: boolean
  /** Source of changes that are not events of the log, to be sent too. */
  notices?: Notices | undefined
  signal: AbortSignal
}

/**
 * Yields the events of the log in the order of their seq, from a given place on. There is one writer at a time, and a
 * seq is assigned inside
 * its transaction, so seqs become visible in order. Gaps come only from removed rows and are never filled later:
 * a reader that has seen one seq has seen every event before it.
 */
export async function* follow(svc: PluginHandle, tail: Tail, options: FollowOptions): AsyncGenerator<StreamEvent> {
  const { signal, agent_id, types, notices } = options
  const store = svc.use(Store)
  const undo = notices?.watch()
  let noticed = notices?.count ?? 0
  try {
    let newest = await newestSeq(store)
    let after = await startOf(svc, newest, options)
    yield { id: String(after), event: 'open', data: { after } }
    while (!signal.aborted) {
      for (; after < newest && !signal.aborted; await svc.clock.yield()) {
        const upTo = Math.min(after + SPAN, newest)
        for (const event of await eventsBetween(store, after, upTo, { agent_id, types })) {
          yield { id: String(event.seq), event: 'message', data: event }
        }
        after = upTo
      }
      if (!options.follow) return
      const fresh = notices?.since(noticed) ?? []
      noticed = notices?.count ?? 0
      for (const data of fresh) yield { event: 'notice', data }
      if (fresh.length === 0) await tail.wait(after, signal)
      if (tail.isClosed) return
      if (!signal.aborted) newest = await newestSeq(store)
    }
  } finally {
    undo?.()
  }
}

async function startOf(svc: PluginHandle, newest: number, options: FollowOptions): Promise<number> {
  const { after } = options
  const oldest = await oldestSeq(svc.use(Store))
  if (after === undefined) return beforeNewest(svc, oldest, newest, options)
  // 0 asks for all available events. Any other seq was already read, and events after it have been removed.
  if (after > 0 && after < oldest - 1) throw new EventsGoneError({ after, oldest })
  // A seq beyond the end is from a database that no longer exists.
  return Math.min(Math.max(after, oldest - 1, 0), newest)
}

/**
 * Returns the position before the given number of newest matching events, or before all of them where there are fewer.
 */
async function beforeNewest(
  svc: PluginHandle,
  oldest: number,
  newest: number,
  { last = 0, agent_id, types, signal }: FollowOptions,
): Promise<number> {
  if (last === 0) return newest
  let left = last
  for (let upTo = newest; upTo >= oldest && !signal.aborted; upTo -= SPAN) {
    const found = await newestSeqs(svc.use(Store), upTo - SPAN, upTo, { agent_id, types }, left)
    left -= found.length
    if (left === 0) return found.at(-1)! - 1
    await svc.clock.yield()
  }
  return Math.max(oldest - 1, 0)
}
