import { agentNameOf } from '#core/agents/statements'
import { z } from '#kernel'
import { countRows, defineEffect, insertInto, isoTime, type Store, type Stored } from '#platform/store/contract'
import type { Alarm } from './contract.ts'

/** An alarm's row, times in milliseconds. */
export interface AlarmRow extends Stored<Omit<Alarm, 'at'>, 'created_at' | 'fired_at'> {
  fire_at: number
  /** The only goal whose conversation gets the message; null for any. */
  goal_id: string | null
}

const ROW = `SELECT alarm_id, agent_id, description, fire_at, status, created_by, goal_id, created_at, fired_at,
  ${agentNameOf('alarms.agent_id')} AS agent_name FROM alarms`

export function findAlarm(store: Store, alarm_id: string): Promise<AlarmRow | undefined> {
  return store.get<AlarmRow>(`${ROW} WHERE alarm_id = ?`, [alarm_id])
}

/** Returns alarms of one agent or of all, the next one first. */
export function listAlarms(store: Store, all: boolean, agent_id?: string): Promise<AlarmRow[]> {
  return store.all<AlarmRow>(
    `${ROW} WHERE (? = 1 OR status = 'pending') ${agent_id === undefined ? '' : 'AND agent_id = ?'} ORDER BY fire_at, alarm_id`,
    [all, ...(agent_id === undefined ? [] : [agent_id])],
  )
}

export function pendingAlarms(store: Store, agent_id: string): Promise<number> {
  return countRows(store, "FROM alarms WHERE agent_id = ? AND status = 'pending'", [agent_id])
}

export async function isGoalActive(store: Store, goal_id: string): Promise<boolean> {
  return (await store.get("SELECT 1 FROM goals_view WHERE goal_id = ? AND status = 'active'", [goal_id])) !== undefined
}

export function dueAlarms(store: Store, now: number, limit: number): Promise<AlarmRow[]> {
  return store.all<AlarmRow>(`${ROW} WHERE status = 'pending' AND fire_at <= ? ORDER BY fire_at, alarm_id LIMIT ?`, [
    now,
    limit,
  ])
}

/** Maximum number of alarms in one prompt. */
export const REPORTED_AT_ONCE = 20

const UNREPORTED = `${ROW} WHERE agent_id = ? AND status = 'fired' AND told_at IS NULL
  AND (goal_id IS NULL OR goal_id = ?) ORDER BY fire_at, alarm_id LIMIT ${REPORTED_AT_ONCE}`

/** Returns fired alarms that the agent has not read. @param goal_id the goal that it pursues, if any */
export function unreportedAlarms(store: Store, agent_id: string, goal_id: string | null): Promise<AlarmRow[]> {
  return store.all<AlarmRow>(UNREPORTED, [agent_id, goal_id])
}

export function shownAlarm({ goal_id: _, fire_at, created_at, fired_at, ...rest }: AlarmRow): Alarm {
  return {
    ...rest,
    at: isoTime(fire_at),
    created_at: isoTime(created_at),
    fired_at: isoTime(fired_at),
  }
}

export const insertAlarm = defineEffect({
  name: 'alarms.insert',
  schema: z.object({
    alarm_id: z.string(),
    agent_id: z.string(),
    description: z.string(),
    fire_at: z.int(),
    created_by: z.string(),
    goal_id: z.string().nullable().default(null),
  }),
  statements: (row, now) => insertInto('alarms', { ...row, created_at: now }),
})

/** Refused when the alarm has fired or was removed. */
export const fireAlarm = defineEffect({
  name: 'alarms.fire',
  mustChange: true,
  schema: z.object({ alarm_id: z.string() }),
  statements: ({ alarm_id }, now) => ({
    sql: "UPDATE alarms SET status = 'fired', fired_at = ? WHERE alarm_id = ? AND status = 'pending' AND fire_at <= ?",
    params: [now, alarm_id, now],
  }),
})

/** Belongs into the commit that records the model's answer to the prompt that contained the alarm. */
export const markAlarmsReported = defineEffect({
  name: 'alarms.mark_reported',
  schema: z.object({ alarm_ids: z.array(z.string()) }),
  statements: ({ alarm_ids }, now) =>
    alarm_ids.map(alarm_id => ({ sql: 'UPDATE alarms SET told_at = ? WHERE alarm_id = ?', params: [now, alarm_id] })),
})

export const changeAlarm = defineEffect({
  name: 'alarms.change',
  mustChange: true,
  schema: z.object({ alarm_id: z.string(), description: z.string(), fire_at: z.int() }),
  statements: ({ alarm_id, description, fire_at }) => ({
    sql: "UPDATE alarms SET description = ?, fire_at = ? WHERE alarm_id = ? AND status = 'pending'",
    params: [description, fire_at, alarm_id],
  }),
})

/** Removes an alarm of its owner that the owner has not read. */
export const cancelAlarm = defineEffect({
  name: 'alarms.cancel',
  schema: z.object({ alarm_id: z.string(), agent_id: z.string() }),
  statements: ({ alarm_id, agent_id }) => ({
    sql: 'DELETE FROM alarms WHERE alarm_id = ? AND agent_id = ? AND told_at IS NULL',
    params: [alarm_id, agent_id],
  }),
})

export const ALARM_EFFECTS = [insertAlarm, fireAlarm, markAlarmsReported, changeAlarm, cancelAlarm]
