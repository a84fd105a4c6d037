import { z } from '#kernel'
import type { Store } from '../store/contract.ts'

/** Up to which event completed goals have been stored. */
export const CURSOR = { namespace: 'memory', key: 'goals_seq' } as const

export async function cursor(store: Store): Promise<number> {
  const { namespace, key } = CURSOR
  const row = await store.get<{ value: string }>('SELECT value FROM plugin_values WHERE namespace = ? AND key = ?', [
    namespace,
    key,
  ])
  return z.coerce.number().int().catch(0).parse(row?.value)
}

export async function newestEvent(store: Store): Promise<number> {
  return (await store.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM events'))?.seq ?? 0
}

/** A goal that was completed, with the event that told it. */
export interface Achievement {
  seq: number
  run_id: string | null
  agent_id: string
  goal_id: string
  objective: string
  result: string | null
  unconfirmed: number
}

/** Events that are read at a time. */
const PIECE = 100

/** The goals completed between two events, in that order; those of deleted agents are gone. */
export async function* completedUpTo(store: Store, after: number, upTo: number): AsyncGenerator<Achievement> {
  for (let from = after; from < upTo; ) {
    const events = await store.all<{ seq: number; run_id: string | null; data: string }>(
      "SELECT seq, run_id, data FROM events WHERE type = 'goal_completed' AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
      [from, upTo, PIECE],
    )
    for (const { seq, run_id, data } of events) {
      const { goal_id } = JSON.parse(data) as { goal_id: string }
      const goal = await store.get<Omit<Achievement, 'seq' | 'run_id'>>(
        "SELECT goal_id, agent_id, objective, result, unconfirmed FROM goals WHERE goal_id = ? AND status = 'completed'",
        [goal_id],
      )
      if (goal) yield { ...goal, seq, run_id }
    }
    from = events.length < PIECE ? upTo : events.at(-1)!.seq
  }
}
