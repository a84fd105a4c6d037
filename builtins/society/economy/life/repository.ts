import { z } from '#kernel'
import { countRows, defineEffect, insertInto, listColumn, type Store, type Stored } from '#platform/store/contract'
import type { LifeMoment } from '../contract.ts'

/** An agent's state when the event happened, for its choice. Money in cents, stats in thousandths. */
export const Situation = z.object({
  balance: z.int(),
  happiness: z.int(),
  health: z.int(),
  reputation: z.int(),
  energy: z.int(),
  job: z.string().nullable(),
})
export type Situation = z.infer<typeof Situation>

export interface LifeRow extends Stored<Omit<LifeMoment, 'effects'>, 'at'> {
  agent_id: string
  situation: string
  attempts: number
  effects: string | null
}

const ROW = `SELECT life_event_id, agent_id, beat, event, category, origin, situation, status, attempts, choice, chosen_by, luck,
  effects, summary, at FROM life_events l`

/** Returns the waiting events of awake agents, oldest first. */
export function waitingEvents(store: Store, now: number, limit: number): Promise<LifeRow[]> {
  return store.all<LifeRow>(
    `${ROW} WHERE l.status = 'waiting' AND l.asked_until <= ? AND EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = l.agent_id
       AND a.died_at IS NULL AND a.paused_at IS NULL) AND NOT EXISTS (SELECT 1 FROM approvals_view p
       WHERE p.agent_id = l.agent_id AND p.status = 'pending' AND p.task_id IS NULL)
     ORDER BY l.beat, l.agent_id LIMIT ?`,
    [now, limit],
  )
}

export function listLife(store: Store, agent_id: string, limit: number, offset: number): Promise<LifeRow[]> {
  return store.all<LifeRow>(`${ROW} WHERE l.agent_id = ? ORDER BY l.beat DESC LIMIT ? OFFSET ?`, [
    agent_id,
    limit,
    offset,
  ])
}
export function countLife(store: Store, agent_id: string): Promise<number> {
  return countRows(store, 'FROM life_events WHERE agent_id = ?', [agent_id])
}

/**
 * Returns the latest events of every agent, newest first, by agent.
 * @param each maximum number for each agent
 */
export async function recentEvents(store: Store, each: number): Promise<ReadonlyMap<string, string[]>> {
  const rows = await store.all<{ agent_id: string; event: string }>(
    `SELECT agent_id, event FROM (SELECT agent_id, event, beat, row_number() OVER (PARTITION BY agent_id ORDER BY beat DESC) AS n
     FROM life_events) r WHERE n <= ? ORDER BY agent_id, beat DESC`,
    [each],
  )
  return groupByAgent(rows, ({ event }) => event)
}

/** Returns the agents with a waiting event. */
export async function waitingAgents(store: Store): Promise<ReadonlySet<string>> {
  return new Set(await listColumn(store, "SELECT agent_id FROM life_events WHERE status = 'waiting'"))
}

export interface FollowUp {
  follow_up_id: string
  event: string
}

/** Returns the follow-up events that are due, longest due first, by agent. */
export async function dueFollowUps(store: Store, beat: number): Promise<ReadonlyMap<string, FollowUp[]>> {
  const rows = await store.all<FollowUp & { agent_id: string }>(
    `SELECT follow_up_id, agent_id, event FROM life_follow_ups WHERE due_beat <= ? ORDER BY agent_id, due_beat, follow_up_id`,
    [beat],
  )
  return groupByAgent(rows, ({ follow_up_id, event }) => ({ follow_up_id, event }))
}

function groupByAgent<R extends { agent_id: string }, V>(rows: readonly R[], value: (row: R) => V): Map<string, V[]> {
  const groups = new Map<string, V[]>()
  for (const row of rows) groups.set(row.agent_id, [...(groups.get(row.agent_id) ?? []), value(row)])
  return groups
}

/** Returns decided events that are not in their agent's memory yet. */
export function eventsToRemember(store: Store, limit: number): Promise<LifeRow[]> {
  return store.all<LifeRow>(`${ROW} WHERE l.status = 'decided' AND l.remembered = 0 ORDER BY l.decided_at LIMIT ?`, [
    limit,
  ])
}

/** Inserts a life event, and removes the follow-up that it came from. */
export const happen = defineEffect({
  name: 'life.happen',
  schema: z.object({
    life_event_id: z.string(),
    agent_id: z.string(),
    beat: z.int(),
    event: z.string(),
    category: z.string(),
    origin: z.enum(['random', 'follow_up']),
    follow_up_id: z.string().nullable(),
    situation: Situation,
  }),
  statements: ({ follow_up_id, situation, ...row }, now) => [
    insertInto('life_events', { ...row, situation: JSON.stringify(situation), at: now }, 'ON CONFLICT DO NOTHING'),
    ...(follow_up_id === null
      ? []
      : [{ sql: 'DELETE FROM life_follow_ups WHERE follow_up_id = ?', params: [follow_up_id] }]),
  ],
})

/** Deletes follow-ups whose events no longer exist. */
export const dropFollowUps = defineEffect({
  name: 'life.drop',
  schema: z.object({ follow_up_ids: z.array(z.string()) }),
  statements: ({ follow_up_ids }) =>
    follow_up_ids.map(id => ({ sql: 'DELETE FROM life_follow_ups WHERE follow_up_id = ?', params: [id] })),
})

/** Claims an event, so that only one process asks the agent's model. */
export const takeEvent = defineEffect({
  name: 'life.take',
  mustChange: true,
  schema: z.object({ life_event_id: z.string(), until: z.int() }),
  statements: ({ life_event_id, until }, now) => ({
    sql: `UPDATE life_events SET asked_until = ? WHERE life_event_id = ? AND status = 'waiting' AND asked_until <= ?`,
    params: [until, life_event_id, now],
  }),
})

/**
 * Releases an event without a choice; it stays waiting.
 * @param failed whether this counts as an attempt
 */
export const leaveEvent = defineEffect({
  name: 'life.wait',
  schema: z.object({ life_event_id: z.string(), failed: z.boolean() }),
  statements: ({ life_event_id, failed }) => ({
    sql: "UPDATE life_events SET asked_until = 0, attempts = attempts + ? WHERE life_event_id = ? AND status = 'waiting'",
    params: [failed, life_event_id],
  }),
})

/** Releases the claims of all waiting events, at the start of the only running daemon. */
export const freeEvents = defineEffect({
  name: 'life.free',
  schema: z.object({}),
  statements: () => ({ sql: "UPDATE life_events SET asked_until = 0 WHERE status = 'waiting'" }),
})

/** Records the choice. Refused when one was recorded already. */
export const decide = defineEffect({
  name: 'life.decide',
  mustChange: true,
  schema: z.object({
    life_event_id: z.string(),
    choice: z.int(),
    chosen_by: z.enum(['model', 'default', 'only']),
    luck: z.int(),
    effects: z.record(z.string(), z.number()),
    summary: z.string(),
  }),
  statements: ({ life_event_id, choice, chosen_by, luck, effects, summary }, now) => ({
    sql: `UPDATE life_events SET status = 'decided', choice = ?, chosen_by = ?, luck = ?, effects = ?, summary = ?, decided_at = ?
          WHERE life_event_id = ? AND status = 'waiting'`,
    params: [choice, chosen_by, luck, JSON.stringify(effects), summary, now, life_event_id],
  }),
})

export const queueFollowUp = defineEffect({
  name: 'life.follow',
  schema: z.object({ follow_up_id: z.string(), agent_id: z.string(), event: z.string(), due_beat: z.int() }),
  statements: row => insertInto('life_follow_ups', row, 'ON CONFLICT (follow_up_id) DO NOTHING'),
})

export const markRemembered = defineEffect({
  name: 'life.remembered',
  schema: z.object({ life_event_id: z.string() }),
  statements: ({ life_event_id }) => ({
    sql: 'UPDATE life_events SET remembered = 1 WHERE life_event_id = ?',
    params: [life_event_id],
  }),
})

/** Deletes old events that are in their agent's memory, and old orders that have ended. */
export const forgetLife = defineEffect({
  name: 'life.forget',
  schema: z.object({ beat: z.int() }),
  statements: ({ beat }) => [
    { sql: "DELETE FROM life_events WHERE status = 'decided' AND remembered = 1 AND beat < ?", params: [beat] },
    { sql: "DELETE FROM world_orders WHERE status <> 'open' AND due_beat < ?", params: [beat] },
  ],
})

export const LIFE_EFFECTS = [
  happen,
  dropFollowUps,
  takeEvent,
  leaveEvent,
  freeEvents,
  decide,
  queueFollowUp,
  markRemembered,
  forgetLife,
]
