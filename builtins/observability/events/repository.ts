import { agentNameOf } from '#core/agents/statements'
import {
  countRows,
  EVENT_COLUMNS,
  type EventEnvelope,
  type EventRow,
  listColumn,
  type Store,
  shownEvent,
} from '#platform/store/contract'

/** Columns of events for readers, with the current names of their agents. */
const SHOWN_COLUMNS = `${EVENT_COLUMNS}, ${agentNameOf('events_view.agent_id')} AS agent_name`

/** Filter of events; an empty one matches all. */
export interface EventFilter {
  agent_id?: string | undefined
  types?: readonly string[] | undefined
}

/** Returns the seq of the oldest event that is kept; 0 when there is none. */
export async function oldestSeq(store: Store): Promise<number> {
  return (await store.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM events_view'))?.seq ?? 0
}

/**
 * Returns events after one seq and up to another, oldest first. The span of seqs bounds the work, however few events
 * match.
 */
export async function eventsBetween(
  store: Store,
  after: number,
  upTo: number,
  filter: EventFilter = {},
): Promise<EventEnvelope[]> {
  const { sql, params } = conditionOf(filter)
  const rows = await store.all<EventRow>(
    `SELECT ${SHOWN_COLUMNS} FROM events_view WHERE seq > ? AND seq <= ?${sql} ORDER BY seq`,
    [after, upTo, ...params],
  )
  return rows.map(shownEvent)
}

/** Returns the newest seqs after one and up to another, newest first, at most `limit`. */
export function newestSeqs(
  store: Store,
  after: number,
  upTo: number,
  filter: EventFilter,
  limit: number,
): Promise<number[]> {
  const { sql, params } = conditionOf(filter)
  return listColumn<number>(
    store,
    `SELECT seq FROM events_view WHERE seq > ? AND seq <= ?${sql} ORDER BY seq DESC LIMIT ?`,
    [after, upTo, ...params, limit],
  )
}

/** Returns an agent's events after a seq and up to another, oldest first, at most `limit`. */
export async function eventsOfAgent(
  store: Store,
  agent_id: string,
  after: number,
  upTo: number,
  limit: number,
): Promise<EventEnvelope[]> {
  const rows = await store.all<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM events_view WHERE ${agent_id === '' ? 'agent_id IS NULL' : 'agent_id = ?'} AND seq > ? AND seq <= ?
     ORDER BY seq LIMIT ?`,
    [...(agent_id === '' ? [] : [agent_id]), after, upTo, limit],
  )
  return rows.map(shownEvent)
}

/** Returns a page of events, newest first. */
export async function latestEvents(
  store: Store,
  filter: EventFilter,
  limit: number,
  offset: number,
): Promise<EventEnvelope[]> {
  const { sql, params } = conditionOf(filter)
  const rows = await store.all<EventRow>(
    `SELECT ${SHOWN_COLUMNS} FROM events_view WHERE true${sql} ORDER BY seq DESC LIMIT ? OFFSET ?`,
    [...params, limit, offset],
  )
  return rows.map(shownEvent)
}

export function countEvents(store: Store, filter: EventFilter): Promise<number> {
  const { sql, params } = conditionOf(filter)
  return countRows(store, `FROM events_view WHERE true${sql}`, params)
}

function conditionOf({ agent_id, types = [] }: EventFilter): { sql: string; params: unknown[] } {
  const parts: string[] = []
  if (agent_id !== undefined) parts.push(' AND agent_id = ?')
  if (types.length > 0) parts.push(` AND type IN (${types.map(() => '?').join(', ')})`)
  return { sql: parts.join(''), params: [...(agent_id === undefined ? [] : [agent_id]), ...types] }
}
