import type { MessageSource } from '#core/goals/contract'
import { type Effect, type PluginHandle, token } from '#kernel'
import { appendEvent, isoTime, Store, wakeAgents } from '#platform/store/contract'
import {
  type AlarmRow,
  cancelAlarm,
  changeAlarm,
  dueAlarms,
  findAlarm,
  fireAlarm,
  insertAlarm,
  isGoalActive,
  listAlarms,
  markAlarmsReported,
  pendingAlarms,
  REPORTED_AT_ONCE,
  shownAlarm,
  unreportedAlarms,
} from './alarm-repository.ts'
import { timeOf } from './calendar.ts'
import type { SchedulesConfig } from './config.ts'
import {
  type Alarm,
  AlarmNotFoundError,
  type Alarms,
  BadAlarmError,
  type NewAlarm,
  TooManySchedulesError,
} from './contract.ts'

/** Maximum number of alarms fired in one call; the rest follows at once. */
const AT_ONCE = 100
/** Maximum time until an alarm, in milliseconds: a hundred years. */
const FURTHEST_MS = 100 * 365.25 * 86_400_000

/** The alarms with all operations of this module; methods of the current provider take precedence. */
export const OwnAlarms = token<AlarmBook>('schedules/alarms')

/** Operations on alarms, for all callers. */
export class AlarmBook implements Alarms {
  readonly #svc: PluginHandle
  readonly #config: SchedulesConfig

  constructor(svc: PluginHandle, config: SchedulesConfig) {
    this.#svc = svc
    this.#config = config
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  timeOf(text: string): Promise<number> {
    return timeOf(text, this.#config.time_zone, this.#svc.clock.ms())
  }

  async make({ agent_id, description, at, created_by, goal_id = null }: NewAlarm) {
    const fire_at = this.#ahead(at)
    const limit = this.#config.max_per_agent
    // Messages about processes are few, and must not be lost.
    if (created_by !== 'process' && (await pendingAlarms(this.#store, agent_id)) >= limit)
      throw new TooManySchedulesError({ what: 'alarms', limit })
    const alarm_id = this.#svc.ports.ids.make('alarm', 8)
    if (goal_id !== null && !(await isGoalActive(this.#store, goal_id))) return { alarm_id, effects: [] }
    const alarm = { alarm_id, agent_id, description, fire_at, created_by, goal_id }
    return { alarm_id, effects: [insertAlarm(alarm), alarmChanged(alarm, 'set')] }
  }

  async list(agent_id?: string, all = false): Promise<Alarm[]> {
    return (await listAlarms(this.#store, all, agent_id)).map(shownAlarm)
  }

  /** @throws AlarmNotFoundError */
  async find(alarm_id: string): Promise<AlarmRow> {
    const row = await findAlarm(this.#store, alarm_id)
    if (row?.status !== 'pending') throw new AlarmNotFoundError({ alarm_id, whose: '' })
    return row
  }

  async cancel(alarm_id: string, agent_id: string): Promise<Effect[]> {
    const row = await findAlarm(this.#store, alarm_id)
    if (row?.agent_id !== agent_id || row.status !== 'pending')
      throw new AlarmNotFoundError({ alarm_id, whose: ' of yours' })
    return [cancelAlarm({ alarm_id, agent_id }), alarmChanged(row, 'cancelled')]
  }

  withdraw(alarm: Pick<AlarmRow, 'alarm_id' | 'agent_id'>): Effect[] {
    return [cancelAlarm(alarm)]
  }

  /** @throws AlarmNotFoundError, BadAlarmError */
  async change(alarm_id: string, given: { description?: string | undefined; at?: number | undefined }): Promise<Alarm> {
    const row = await this.find(alarm_id)
    const fire_at = given.at === undefined ? row.fire_at : this.#ahead(given.at)
    const description = given.description ?? row.description
    if (!(await this.#store.apply([changeAlarm({ alarm_id, description, fire_at }), alarmChanged(row, 'moved')])))
      throw new AlarmNotFoundError({ alarm_id, whose: '' })
    return shownAlarm(await this.find(alarm_id))
  }

  #ahead(at: number): number {
    const now = this.#svc.clock.ms()
    if (!Number.isFinite(at) || at > now + FURTHEST_MS)
      throw new BadAlarmError({ problem: 'That is too far ahead; set an alarm within a hundred years.' })
    if (at <= now)
      throw new BadAlarmError({
        problem: `${isoTime(at)} has passed (it is ${isoTime(now)}); give a time in the future.`,
      })
    return Math.round(at)
  }
}

/**
 * Fires due alarms.
 * @returns whether there may be more
 */
export async function ringAlarms(svc: PluginHandle): Promise<boolean> {
  const store = svc.use(Store)
  const due = await dueAlarms(store, svc.clock.ms(), AT_ONCE)
  for (const { alarm_id, agent_id, description } of due) {
    await store.apply([
      fireAlarm({ alarm_id }),
      appendEvent({ type: 'alarm_fired', agent_id, data: { agent_id, alarm_id, description } }),
      wakeAgents({ agents: [agent_id], reason: 'alarm' }),
    ])
  }
  return due.length === AT_ONCE
}

/** Puts an agent's fired alarms into its prompts, until a model has read them. */
export function alarmMessages(svc: PluginHandle): MessageSource {
  return {
    name: 'alarms',
    portion: REPORTED_AT_ONCE,
    async pending(agent_id, goal_id = null) {
      const alarms = await unreportedAlarms(svc.use(Store), agent_id, goal_id)
      const items = alarms.map(({ fire_at, created_by, description }) => ({
        from:
          created_by === 'process'
            ? `Notice of ${isoTime(fire_at)}`
            : `Alarm of ${isoTime(fire_at)}, set by ${created_by === 'agent' ? 'yourself' : 'the operator'}`,
        text: description,
        is_report: created_by === 'process',
      }))
      return {
        items,
        acknowledgements:
          alarms.length > 0 ? [markAlarmsReported({ alarm_ids: alarms.map(({ alarm_id }) => alarm_id) })] : [],
      }
    },
  }
}

function alarmChanged({ agent_id, alarm_id }: Pick<AlarmRow, 'agent_id' | 'alarm_id'>, change: string): Effect {
  return appendEvent({ type: 'alarm_changed', agent_id, data: { agent_id, alarm_id, change } })
}
