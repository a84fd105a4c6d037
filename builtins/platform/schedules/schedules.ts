import { Goals } from '#core/goals/contract'
import { type Effect, type PluginHandle, token } from '#kernel'
import { sanitize } from '#lib/sanitize'
import { appendEvent, isoTime, Store } from '#platform/store/contract'
import { Guardrails } from '#safety/guardrails/contract'
import { checkCron, slotAfter } from './calendar.ts'
import type { SchedulesConfig } from './config.ts'
import {
  BadScheduleError,
  type NewSchedule,
  type Schedule,
  ScheduleNotFoundError,
  type Schedules,
  type Timing,
  TooManySchedulesError,
} from './contract.ts'
import {
  countEnabledSchedules,
  currentCycle,
  deleteSchedule,
  findSchedule,
  insertSchedule,
  listSchedules,
  type ScheduleRow,
  switchSchedule,
  toSchedule,
} from './repository.ts'

/** Schedules with all operator operations, from the current provider where possible. */
export const OwnSchedules = token<ScheduleBook>('schedules/schedules')

/** Operations on schedules, for all callers. */
export class ScheduleBook implements Schedules {
  readonly #svc: PluginHandle
  readonly #config: SchedulesConfig

  constructor(svc: PluginHandle, config: SchedulesConfig) {
    this.#svc = svc
    this.#config = config
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  async make({ agent_id, objective, priority = 4, missed, acceptance = [], created_by, ...timing }: NewSchedule) {
    const limit = this.#config.max_per_agent
    if ((await countEnabledSchedules(this.#store, agent_id)) >= limit)
      throw new TooManySchedulesError({ what: 'schedules', limit })
    if (acceptance.length > 0) await this.#svc.use(Goals).refuseUncheckable(acceptance, agent_id)
    const schedule_id = this.#svc.ports.ids.make('sched', 8)
    const times = await this.#timesOf(timing)
    const start = await this.#start(agent_id, times)
    const text = await cleanObjective(this.#svc, agent_id, objective)
    const row = {
      schedule_id,
      agent_id,
      objective: text,
      ...times,
      priority,
      missed: missed ?? null,
      acceptance: acceptance.length > 0 ? JSON.stringify(acceptance) : null,
      created_by,
      ...start,
    }
    return {
      schedule_id,
      next:
        start.next_at === null
          ? `cycle ${start.last_fired_cycle + (times.every_n_cycles ?? 0)}`
          : isoTime(start.next_at),
      effects: [insertSchedule(row), scheduleChanged(row, 'added')],
    }
  }

  async list(agent_id?: string, all = true): Promise<Schedule[]> {
    const rows = await listSchedules(this.#store, agent_id)
    return rows.filter(({ enabled }) => all || enabled === 1).map(toSchedule)
  }

  /** @throws ScheduleNotFoundError */
  async find(schedule_id: string): Promise<ScheduleRow> {
    const row = await findSchedule(this.#store, schedule_id)
    if (!row) throw new ScheduleNotFoundError({ schedule_id, whose: '' })
    return row
  }

  async cancel(schedule_id: string, agent_id: string): Promise<Effect[]> {
    const row = await findSchedule(this.#store, schedule_id)
    if (row?.agent_id !== agent_id) throw new ScheduleNotFoundError({ schedule_id, whose: ' of yours' })
    return this.#setEnabled(row, false)
  }

  /** @throws ScheduleNotFoundError */
  async switch(schedule_id: string, enabled: boolean): Promise<Schedule> {
    const row = await this.find(schedule_id)
    if ((row.enabled === 1) !== enabled) await this.#store.apply(await this.#setEnabled(row, enabled))
    return toSchedule(await this.find(schedule_id))
  }

  /** @throws ScheduleNotFoundError */
  async remove(schedule_id: string): Promise<void> {
    const row = await this.find(schedule_id)
    if (!(await this.#store.apply([deleteSchedule({ schedule_id }), scheduleChanged(row, 'removed')])))
      throw new ScheduleNotFoundError({ schedule_id, whose: '' })
  }

  async #setEnabled(row: ScheduleRow, enabled: boolean): Promise<Effect[]> {
    const { schedule_id, agent_id } = row
    const start = enabled ? await this.#start(agent_id, row) : row
    const { next_at, last_fired_cycle } = start
    return [
      switchSchedule({ schedule_id, agent_id, enabled, next_at, last_fired_cycle }),
      scheduleChanged(row, enabled ? 'enabled' : 'disabled'),
    ]
  }

  /** Returns the first slot of a schedule that starts now. */
  async #start(agent_id: string, times: Pick<ScheduleRow, 'every_n_cycles' | 'every_ms' | 'cron' | 'time_zone'>) {
    const now = this.#svc.clock.ms()
    const next_at = times.every_n_cycles === null ? await slotAfter(times, now, now) : null
    return { next_at, last_fired_cycle: await currentCycle(this.#store, agent_id) }
  }

  async #timesOf({ every_n_cycles, every, cron, time_zone: given }: Timing) {
    if ([every_n_cycles, every, cron].filter(each => each !== undefined).length !== 1) {
      throw new BadScheduleError({
        problem: 'Give exactly one of every_n_cycles (3), every (seconds: 3600) and cron ("0 9 * * 1-5").',
      })
    }
    if (cron === undefined && given !== undefined) {
      throw new BadScheduleError({
        problem: 'time_zone is the time zone of a cron expression; give it together with cron, or leave it out.',
      })
    }
    const time_zone = given ?? this.#config.time_zone
    if (cron !== undefined) await checkCron(cron, time_zone, this.#svc.clock.ms())
    return {
      every_n_cycles: every_n_cycles ?? null,
      every_ms: every === undefined ? null : Math.round(every * 1000),
      cron: cron?.trim() ?? null,
      time_zone: cron === undefined ? null : time_zone,
    }
  }
}

function scheduleChanged(
  { agent_id, schedule_id }: Pick<ScheduleRow, 'agent_id' | 'schedule_id'>,
  change: string,
): Effect {
  return appendEvent({ type: 'schedule_changed', agent_id, data: { agent_id, schedule_id, change } })
}

/**
 * Returns an objective that may be pursued: always sanitized, and checked when guardrails are on. @throws
 * BadScheduleError
 */
export async function cleanObjective(svc: PluginHandle, agent_id: string, objective: string): Promise<string> {
  const clean = sanitize(objective)
  if (clean === '') throw new BadScheduleError({ problem: 'The objective is empty; describe the goal in a sentence.' })
  if (!svc.has(Guardrails)) return clean
  const { action, text } = await svc.use(Guardrails).check('peer', clean, { agent_id })
  if (action === 'block')
    throw new BadScheduleError({ problem: 'A guardrail blocked the objective; put it differently.' })
  return text
}
