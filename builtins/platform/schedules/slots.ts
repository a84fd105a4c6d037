import { ActiveAgent, Agents } from '#core/agents/contract'
import { Goals } from '#core/goals/contract'
import { type Effect, errorMessage, type PluginHandle } from '#kernel'
import { Freeze } from '#platform/daemon/contract'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent, isoTime, Store, wakeAgents } from '#platform/store/contract'
import { Budget } from '#safety/budget/contract'
import { passedSlots, slotAfter } from './calendar.ts'
import type { SchedulesConfig } from './config.ts'
import {
  dueSchedules,
  dueWhilePaused,
  holdSlot,
  moveSlot,
  readAcceptance,
  type ScheduleRow,
  schedulesAhead,
  schedulesDueByCycle,
  settleSlot,
} from './repository.ts'
import { cleanObjective } from './schedules.ts'

/** Number of slots settled in one batch; the next batch follows at once. */
const AT_ONCE = 100
/**
 * Largest clock setback, in milliseconds, that does not move a cron slot. After a larger one, slots count from the new
 * time, as in cron.
 */
const SET_BACK_MS = 3 * 3_600_000

/** Settles the slots that are due by time. @returns whether there may be more */
export async function settleTimes(svc: PluginHandle, config: SchedulesConfig): Promise<boolean> {
  const store = svc.use(Store)
  const now = svc.clock.ms()
  const moved = await schedulesAhead(store, now + SET_BACK_MS, now)
  for (const row of moved) {
    const { schedule_id, next_at: was } = row
    const next_at = await slotAfter(row, now, now)
    if (next_at !== was) await store.apply([moveSlot({ schedule_id, was: was as number, next_at })])
  }
  const paused = await dueWhilePaused(store, now)
  if (paused.length > 0)
    await store.apply(paused.map(({ schedule_id }) => holdSlot({ schedule_id, held_by: 'the agent was paused' })))
  const due = await dueSchedules(store, now, AT_ONCE)
  if (due.length === 0) return false
  const held_by = await holdOf(svc)
  if (held_by !== undefined) {
    const changed = due.filter(row => row.held_by !== held_by)
    if (changed.length > 0) await store.apply(changed.map(({ schedule_id }) => holdSlot({ schedule_id, held_by })))
    return false
  }
  for (const row of due) {
    const effects = await settleRow(svc, config, row, now)
    // Refused: another process settled the slot, or the schedule was changed.
    await store.apply([...effects, wakeAgents({ agents: [row.agent_id], reason: 'schedule' })])
  }
  return due.length === AT_ONCE
}

/** Settles the slots that this agent's cycles have made due, before the cycle selects its goal. */
export async function settleCycles(svc: PluginHandle, cycle: Cycle): Promise<void> {
  const { agent_id, cycle_num } = cycle
  if (cycle.get(ActiveAgent)?.counts_cycles === 0) return
  const due = await schedulesDueByCycle(svc.use(Store), agent_id, cycle_num)
  if (due.length === 0) return
  const held_by = await holdOf(svc)
  for (const row of due) {
    if (held_by !== undefined) {
      if (row.held_by !== held_by) cycle.effects.push(holdSlot({ schedule_id: row.schedule_id, held_by }))
      continue
    }
    const n = row.every_n_cycles as number
    const passed = Math.floor((cycle_num - row.last_fired_cycle) / n)
    const next = { was: row.last_fired_cycle, next_at: null, last_fired_cycle: cycle_num }
    const missed = passed - 1
    await cycle.save(await outcome(svc, row, next, { slot: null, missed, skips: false }))
  }
  // The agent is read again, because a goal may have been added.
  cycle.set(ActiveAgent, await svc.use(Agents).find(agent_id))
}

/**
 * Returns the reason that blocks all schedules now. A freeze or a used-up budget stops costly work before it begins.
 */
async function holdOf(svc: PluginHandle): Promise<string | undefined> {
  if (svc.has(Freeze) && (await svc.use(Freeze).isFrozen())) return 'the daemon was frozen'
  if (svc.has(Budget) && (await svc.use(Budget).isExceeded())) return 'the budget was used up'
  return undefined
}

async function settleRow(svc: PluginHandle, config: SchedulesConfig, row: ScheduleRow, now: number): Promise<Effect[]> {
  const was = row.next_at as number
  const { count, last, next } = await passedSlots(row, was, now, svc.clock)
  const skips = (row.missed ?? config.missed) === 'skip' && now - last > config.grace * 1000
  const where = { was, next_at: next, last_fired_cycle: row.last_fired_cycle }
  return outcome(svc, row, where, { slot: last, missed: count - 1, skips })
}

interface Slot {
  /** Scheduled time, in milliseconds. */
  slot: number | null
  /** Number of missed slots before it. */
  missed: number
  /** Whether the latest slot is too late as well and is skipped. */
  skips: boolean
}

/**
 * Returns the writes that settle a slot in one transaction: a goal or the reason why there is none, and the next slot.
 */
async function outcome(
  svc: PluginHandle,
  row: ScheduleRow,
  next: { was: number; next_at: number | null; last_fired_cycle: number },
  { slot, missed, skips }: Slot,
): Promise<Effect[]> {
  const { agent_id, schedule_id, priority } = row
  const late = row.held_by ?? 'nothing was running at that time'
  const objective = skips || row.busy ? undefined : await readable(svc, row)
  const whyNot = skips ? late : row.busy ? 'its last goal was still active' : 'a guardrail blocked the objective'
  const skipped = missed + (objective === undefined ? 1 : 0)
  const reason = skipped === 0 ? null : objective === undefined ? whyNot : late
  const goal =
    objective === undefined
      ? undefined
      : svc.use(Goals).add({
          agent_id,
          objective,
          priority,
          origin: 'schedule',
          parent_goal_id: null,
          acceptance: readAcceptance(row.acceptance),
        })
  const goal_id = goal?.goal_id ?? null
  const fired = {
    type: 'schedule_fired',
    agent_id,
    data: { agent_id, schedule_id, goal_id, slot: isoTime(slot) },
  }
  return [
    settleSlot({ schedule_id, ...next, goal_id, skipped, reason }),
    ...(goal ? [...goal.effects, appendEvent(fired)] : []),
    ...(skipped > 0
      ? [appendEvent({ type: 'schedule_skipped', agent_id, data: { agent_id, schedule_id, slots: skipped, reason } })]
      : []),
  ]
}

/** Returns the objective if it passes today's checks; undefined when a guardrail stops it. */
async function readable(
  svc: PluginHandle,
  { agent_id, schedule_id, objective }: ScheduleRow,
): Promise<string | undefined> {
  try {
    return await cleanObjective(svc, agent_id, objective)
  } catch (error) {
    svc.log.warn({ agent_id, schedule_id }, errorMessage(error))
    return undefined
  }
}
