import { agentNameOf } from '#core/agents/statements'
import { z } from '#kernel'
import {
  AMONG,
  EVENT_COLUMNS,
  type EventRow,
  getValue,
  jsonList,
  type Store,
  setValue,
  shownEvent,
} from '#platform/store/contract'

const CURSOR = { namespace: 'notifications', key: 'after' }

/** Returns the seq of the last event that was looked at; undefined before the first. */
export async function readCursor(store: Store): Promise<number | undefined> {
  return z
    .number()
    .optional()
    .parse(await getValue(store, CURSOR))
}

export const moveCursor = (seq: number) => setValue({ ...CURSOR, value: seq })

/** Returns the newest events of some types in a range of seqs and since a time, newest first. */
export async function newestEvents(
  store: Store,
  {
    after,
    upTo,
    since,
    types,
    limit,
  }: { after: number; upTo: number; since: number; types: readonly string[]; limit: number },
) {
  const rows = await store.all<EventRow>(
    `SELECT ${EVENT_COLUMNS}, ${agentNameOf('events_view.agent_id')} AS agent_name
     FROM events_view WHERE seq > ? AND seq <= ? AND at >= ? AND type ${AMONG} ORDER BY seq DESC LIMIT ?`,
    [after, upTo, since, jsonList(types), limit],
  )
  return rows.map(shownEvent)
}
