import { z } from '#kernel'
import { AMONG, getValue, jsonList, listColumn, RUN_OF, type Store } from '#platform/store/contract'

/** Key of the last event up to which completed goals have been stored. */
export const CURSOR = { namespace: 'memory', key: 'goals_seq' } as const

/** Key of the current consolidation round: when it began, and the last agent handled. */
export const ROUND = { namespace: 'memory', key: 'consolidated' } as const
const Round = z.object({ began_ms: z.number(), after: z.string().nullable() })
export type Round = z.infer<typeof Round>

export async function cursor(store: Store): Promise<number> {
  return z.coerce
    .number()
    .int()
    .catch(0)
    .parse(await getValue(store, CURSOR))
}

export async function round(store: Store): Promise<Round> {
  return Round.catch({ began_ms: 0, after: null }).parse(await getValue(store, ROUND))
}

/** Returns agents in the order of their ids, after the given one. */
export function agentsAfter(store: Store, after: string, limit: number): Promise<string[]> {
  return listColumn(store, 'SELECT agent_id FROM agents_view WHERE agent_id > ? ORDER BY agent_id LIMIT ?', [
    after,
    limit,
  ])
}

/** Returns the id of the current run, or null. */
export async function runOf(store: Store): Promise<string | null> {
  return (await store.get<{ run_id: string | null }>(`SELECT ${RUN_OF} AS run_id`, [null]))?.run_id ?? null
}

/** A completed goal, with its event. */
export interface Achievement {
  seq: number
  run_id: string | null
  agent_id: string
  goal_id: string
  objective: string
  result: string | null
  unconfirmed: number
}

/** Number of events read in one query. */
const PAGE_SIZE = 100

/** Yields goals completed after an event, in that order, except those of deleted agents. */
export async function* completedAfter(store: Store, after: number): AsyncGenerator<Achievement> {
  for (let from = after, isLast = false; !isLast; ) {
    const events = await store.all<{ seq: number; run_id: string | null; data: string }>(
      "SELECT seq, run_id, data FROM events_view WHERE type = 'goal_completed' AND seq > ? ORDER BY seq LIMIT ?",
      [from, PAGE_SIZE],
    )
    const ids = events.map(({ data }) => (JSON.parse(data) as { goal_id: string }).goal_id)
    const goals = await completedAmong(store, ids)
    for (const [at, { seq, run_id }] of events.entries()) {
      const goal = goals.find(({ goal_id }) => goal_id === ids[at])
      if (goal) yield { ...goal, seq, run_id }
    }
    isLast = events.length < PAGE_SIZE
    from = events.at(-1)?.seq ?? from
  }
}

async function completedAmong(store: Store, ids: readonly string[]): Promise<Omit<Achievement, 'seq' | 'run_id'>[]> {
  if (ids.length === 0) return []
  return store.all(
    `SELECT goal_id, agent_id, objective, result, unconfirmed FROM goals_view WHERE goal_id ${AMONG} AND status = 'completed'`,
    [jsonList(ids)],
  )
}
