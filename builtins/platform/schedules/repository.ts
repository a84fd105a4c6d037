import { agentNameOf } from '#core/agents/statements'
import { Acceptance } from '#core/goals/contract'
import { z } from '#kernel'
import {
  countRows,
  defineEffect,
  insertInto,
  isoTime,
  listColumn,
  type Store,
  type Stored,
} from '#platform/store/contract'
import type { Schedule } from './contract.ts'

/** A row of the schedules table; times are in milliseconds. A slot is one time or cycle at which a schedule is due. */
export interface ScheduleRow
  extends Stored<
    Omit<Schedule, 'every' | 'acceptance' | 'next_cycle'>,
    'enabled' | 'created_at' | 'next_at' | 'last_fired_at'
  > {
  every_ms: number | null
  /** A JSON array of `Acceptance`; null for none. */
  acceptance: string | null
  /** Number of the agent's cycle from which `every_n_cycles` counts. */
  last_fired_cycle: number
  /** Whether the goal of its last slot is still active. */
  busy: number
}

const SELECT_SCHEDULES = `SELECT s.schedule_id, s.agent_id, s.objective, s.every_n_cycles, s.every_ms, s.cron, s.time_zone, s.priority, s.missed, s.acceptance,
  s.enabled, s.created_by, s.created_at, s.next_at, s.last_fired_cycle, s.held_by, s.fired, s.skipped, s.last_skip, s.last_fired_at,
  s.last_goal_id, EXISTS (SELECT 1 FROM goals_view g WHERE g.goal_id = s.last_goal_id AND g.status = 'active') AS busy,
  ${agentNameOf('s.agent_id')} AS agent_name FROM schedules s`
const JOIN_WORKING_AGENTS =
  'JOIN agents_view a ON a.agent_id = s.agent_id AND a.died_at IS NULL AND a.paused_at IS NULL'

export function findSchedule(store: Store, schedule_id: string): Promise<ScheduleRow | undefined> {
  return store.get<ScheduleRow>(`${SELECT_SCHEDULES} WHERE s.schedule_id = ?`, [schedule_id])
}

/** Returns schedules of one agent or of all, oldest first. */
export function listSchedules(store: Store, agent_id?: string): Promise<ScheduleRow[]> {
  return store.all<ScheduleRow>(
    `${SELECT_SCHEDULES} ${agent_id === undefined ? '' : 'WHERE s.agent_id = ?'} ORDER BY s.created_at, s.schedule_id`,
    agent_id === undefined ? [] : [agent_id],
  )
}

export function countEnabledSchedules(store: Store, agent_id: string): Promise<number> {
  return countRows(store, 'FROM schedules WHERE agent_id = ? AND enabled = 1', [agent_id])
}

/** Returns due schedules whose agents can work, the longest due first. */
export function dueSchedules(store: Store, now: number, limit: number): Promise<ScheduleRow[]> {
  return store.all<ScheduleRow>(
    `${SELECT_SCHEDULES} ${JOIN_WORKING_AGENTS} WHERE s.enabled = 1 AND s.next_at <= ? ORDER BY s.next_at LIMIT ?`,
    [now, limit],
  )
}

/** Returns due schedules of paused agents for which no block reason is recorded yet. */
export function dueWhilePaused(store: Store, now: number): Promise<{ schedule_id: string }[]> {
  return store.all(
    `SELECT s.schedule_id FROM schedules s JOIN agents_view a ON a.agent_id = s.agent_id AND a.died_at IS NULL
     WHERE s.enabled = 1 AND s.next_at <= ? AND s.held_by IS NULL AND a.paused_at IS NOT NULL LIMIT 100`,
    [now],
  )
}

/** Returns an agent's schedules that are due by its number of cycles. */
export async function schedulesDueByCycle(store: Store, agent_id: string, cycle_num: number): Promise<ScheduleRow[]> {
  return store.all<ScheduleRow>(
    `${SELECT_SCHEDULES} WHERE s.agent_id = ? AND s.enabled = 1 AND s.every_n_cycles IS NOT NULL
     AND ? - s.last_fired_cycle >= s.every_n_cycles ORDER BY s.created_at, s.schedule_id`,
    [agent_id, cycle_num],
  )
}

/** Returns the agents whose next cycle makes a slot due. */
export function agentsDueByCycle(store: Store): Promise<string[]> {
  return listColumn(
    store,
    `SELECT DISTINCT s.agent_id FROM schedules s JOIN leases_view l ON l.agent_id = s.agent_id
     WHERE s.enabled = 1 AND s.every_n_cycles IS NOT NULL AND l.cycle_num + 1 - s.last_fired_cycle >= s.every_n_cycles`,
  )
}

/**
 * Returns schedules whose times are ahead of the clock because it was set back.
 * @param latest the latest time at which a cron schedule may have fired, or been created, without being returned
 */
export function schedulesAhead(store: Store, latest: number, now: number): Promise<ScheduleRow[]> {
  return store.all<ScheduleRow>(
    `${SELECT_SCHEDULES} WHERE s.enabled = 1 AND s.next_at IS NOT NULL
     AND (s.cron IS NOT NULL AND coalesce(s.last_fired_at, s.created_at) > ? OR s.every_ms IS NOT NULL AND s.next_at > ? + s.every_ms) LIMIT 100`,
    [latest, now],
  )
}

/** Returns when the next schedule or alarm is due, in milliseconds; null if none is. */
export async function nextDueTime(store: Store): Promise<number | null> {
  const row = await store.get<{ at: number | null }>(
    `SELECT min(at) AS at FROM (SELECT min(next_at) AS at FROM schedules WHERE enabled = 1 AND next_at IS NOT NULL
     UNION ALL SELECT min(fire_at) FROM alarms WHERE status = 'pending') waiting`,
  )
  return row?.at ?? null
}

/** Returns the number of the agent's cycle that runs or ran last; 0 before its first. */
export async function currentCycle(store: Store, agent_id: string): Promise<number> {
  return (await store.get<{ n: number }>('SELECT cycle_num AS n FROM leases_view WHERE id = ?', [agent_id]))?.n ?? 0
}

export function toSchedule(row: ScheduleRow): Schedule {
  const { every_ms, every_n_cycles, last_fired_cycle, busy, acceptance, ...rest } = row
  return {
    ...rest,
    every_n_cycles,
    acceptance: readAcceptance(acceptance),
    every: every_ms === null ? null : every_ms / 1000,
    enabled: row.enabled === 1,
    created_at: isoTime(row.created_at),
    next_at: row.enabled === 1 ? isoTime(row.next_at) : null,
    next_cycle: row.enabled === 1 && every_n_cycles !== null ? last_fired_cycle + every_n_cycles : null,
    last_fired_at: isoTime(row.last_fired_at),
  }
}

/** Parses a schedule's `acceptance` column. */
export function readAcceptance(column: string | null): Acceptance[] {
  return column === null ? [] : z.array(Acceptance).parse(JSON.parse(column))
}

export const insertSchedule = defineEffect({
  name: 'schedules.insert',
  schema: z.object({
    schedule_id: z.string(),
    agent_id: z.string(),
    objective: z.string(),
    every_n_cycles: z.int().nullable(),
    every_ms: z.int().nullable(),
    cron: z.string().nullable(),
    time_zone: z.string().nullable(),
    priority: z.int(),
    missed: z.string().nullable(),
    acceptance: z.string().nullable(),
    created_by: z.string(),
    next_at: z.int().nullable(),
    last_fired_cycle: z.int(),
  }),
  statements: (row, now) => insertInto('schedules', { ...row, created_at: now }),
})

/**
 * Records the outcome of a slot, and the next slot. Refused when the schedule's slot is no longer the one that was
 * read, because another process settled it first or the schedule was changed. So no slot runs twice.
 */
export const settleSlot = defineEffect({
  name: 'schedules.settle',
  mustChange: true,
  schema: z.object({
    schedule_id: z.string(),
    /** The slot that was read: its time, or the cycle number at which it last fired. */
    was: z.int(),
    next_at: z.int().nullable(),
    last_fired_cycle: z.int(),
    /** The goal added for the slot; null if the slot was skipped. */
    goal_id: z.string().nullable(),
    skipped: z.int(),
    reason: z.string().nullable(),
  }),
  statements: ({ schedule_id, was, next_at, last_fired_cycle, goal_id, skipped, reason }, now) => ({
    sql: `UPDATE schedules SET next_at = ?, last_fired_cycle = ?, fired = fired + ?, skipped = skipped + ?,
            last_skip = coalesce(?, last_skip), last_goal_id = coalesce(?, last_goal_id),
            last_fired_at = CASE WHEN ? IS NULL THEN last_fired_at ELSE ? END, held_by = NULL
          WHERE schedule_id = ? AND enabled = 1 AND coalesce(next_at, last_fired_cycle) = ?`,
    params: [
      next_at,
      last_fired_cycle,
      goal_id === null ? 0 : 1,
      skipped,
      reason,
      goal_id,
      goal_id,
      now,
      schedule_id,
      was,
    ],
  }),
})

/** Moves a slot after the clock was set back. Clears `last_fired_at`, so that the slot is moved only once. */
export const moveSlot = defineEffect({
  name: 'schedules.move',
  schema: z.object({ schedule_id: z.string(), was: z.int(), next_at: z.int().nullable() }),
  statements: ({ schedule_id, was, next_at }) => ({
    sql: 'UPDATE schedules SET next_at = ?, last_fired_at = NULL WHERE schedule_id = ? AND next_at = ?',
    params: [next_at, schedule_id, was],
  }),
})

/** Records the reason why a due slot is blocked. */
export const holdSlot = defineEffect({
  name: 'schedules.hold',
  schema: z.object({ schedule_id: z.string(), held_by: z.string() }),
  statements: ({ schedule_id, held_by }) => ({
    sql: 'UPDATE schedules SET held_by = ? WHERE schedule_id = ?',
    params: [held_by, schedule_id],
  }),
})

/** Enables or disables a schedule; slots missed while it was disabled are dropped. */
export const switchSchedule = defineEffect({
  name: 'schedules.switch',
  schema: z.object({
    schedule_id: z.string(),
    agent_id: z.string(),
    enabled: z.boolean(),
    next_at: z.int().nullable(),
    last_fired_cycle: z.int(),
  }),
  statements: ({ schedule_id, agent_id, enabled, next_at, last_fired_cycle }) => ({
    sql: `UPDATE schedules SET enabled = ?, next_at = ?, last_fired_cycle = ?, held_by = NULL
          WHERE schedule_id = ? AND agent_id = ?`,
    params: [enabled, next_at, last_fired_cycle, schedule_id, agent_id],
  }),
})

export const deleteSchedule = defineEffect({
  name: 'schedules.delete',
  mustChange: true,
  schema: z.object({ schedule_id: z.string() }),
  statements: ({ schedule_id }) => ({ sql: 'DELETE FROM schedules WHERE schedule_id = ?', params: [schedule_id] }),
})

export const SCHEDULE_EFFECTS = [insertSchedule, settleSlot, moveSlot, holdSlot, switchSchedule, deleteSchedule]
