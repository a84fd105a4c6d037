import { AgentName } from '#core/agents/contract'
import { Acceptance } from '#core/goals/contract'
import { defineError, type Effect, token, z } from '#kernel'

/** A recurring goal: by the agent's own cycles, at an interval, or by a cron expression. */
export const Schedule = z
  .object({
    schedule_id: z.string().meta({ examples: ['sched-1a2b3c4d'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    agent_name: AgentName,
    objective: z.string().meta({ examples: ['Tidy up the notepad'] }),
    every_n_cycles: z.int().nullable().describe('Interval in cycles of the agent'),
    every: z.number().nullable().describe('Interval in seconds'),
    cron: z.string().nullable(),
    time_zone: z.string().nullable().describe('Time zone of the cron expression'),
    priority: z.int(),
    missed: z.enum(['once', 'skip']).nullable().describe('How to treat missed slots; null applies schedules.missed'),
    acceptance: z
      .array(Acceptance)
      .describe('Criteria that must be met before a goal of the schedule counts as reached'),
    enabled: z.boolean(),
    created_by: z.string(),
    created_at: z.iso.datetime(),
    next_at: z.iso.datetime().nullable(),
    next_cycle: z.int().nullable(),
    held_by: z.string().nullable().describe('Why a due slot has not run yet'),
    fired: z.int().describe('Number of goals created'),
    skipped: z.int().describe('Number of slots skipped'),
    last_skip: z.string().nullable().describe('Why slots were last skipped'),
    last_fired_at: z.iso.datetime().nullable(),
    last_goal_id: z.string().nullable(),
  })
  .meta({ id: 'Schedule' })
export type Schedule = z.infer<typeof Schedule>

/** A message that an agent gets at a given time. */
export const Alarm = z
  .object({
    alarm_id: z.string().meta({ examples: ['alarm-1a2b3c4d'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    agent_name: AgentName,
    description: z.string().meta({ examples: ['Look whether the build is green'] }),
    at: z.iso.datetime(),
    status: z.enum(['pending', 'fired']),
    created_by: z.string(),
    created_at: z.iso.datetime(),
    fired_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Alarm' })
export type Alarm = z.infer<typeof Alarm>

/** When a schedule is due; exactly one of `every_n_cycles`, `every` and `cron`. */
export interface Timing {
  every_n_cycles?: number | undefined
  /** Interval in seconds. */
  every?: number | undefined
  cron?: string | undefined
  time_zone?: string | undefined
}

export interface NewSchedule extends Timing {
  agent_id: string
  objective: string
  priority?: number | undefined
  missed?: 'once' | 'skip' | undefined
  /** Criteria that must be met before each of its goals counts as reached. @throws what `Goals.refuseUncheckable` throws */
  acceptance?: readonly Acceptance[] | undefined
  created_by: 'agent' | 'operator'
}

export interface Schedules {
  /**
   * Returns the writes that create a schedule.
   * @throws BadScheduleError, TooManySchedulesError
   */
  make(schedule: NewSchedule): Promise<{ schedule_id: string; next: string; effects: Effect[] }>
  /** Returns an agent's schedules, oldest first. */
  list(agent_id: string, all?: boolean): Promise<Schedule[]>
  /**
   * Returns the writes that disable a schedule.
   * @throws ScheduleNotFoundError, also if the schedule belongs to another agent
   */
  cancel(schedule_id: string, agent_id: string): Promise<Effect[]>
  /** @deprecated Use `make`. */
  made?: Schedules['make']
  /** @deprecated Use `cancel`. */
  cancelled?: Schedules['cancel']
}
export const Schedules = token<Schedules>('schedules')

export interface NewAlarm {
  agent_id: string
  description: string
  /** Scheduled time, in milliseconds since 1970. */
  at: number
  /** Who set it; `process` is a message about a background process. */
  created_by: 'agent' | 'operator' | 'process'
  /** The only goal whose conversation gets the message; any by default. */
  goal_id?: string | null
}

export interface Alarms {
  /**
   * Parses a time to milliseconds since 1970: ISO 8601, with or without an offset, or `HH:MM` for its next occurrence.
   * @throws BadAlarmError
   */
  timeOf(text: string): Promise<number>
  /** Returns the writes that set an alarm. @throws BadAlarmError, TooManySchedulesError */
  make(alarm: NewAlarm): Promise<{ alarm_id: string; effects: Effect[] }>
  /** Returns the pending alarms of an agent, the next one first. */
  list(agent_id: string): Promise<Alarm[]>
  /**
   * Returns the writes that remove a pending alarm. @throws AlarmNotFoundError also when the alarm belongs to another
   * agent
   */
  cancel(alarm_id: string, agent_id: string): Promise<Effect[]>
  /** @deprecated Use `make`. */
  made?: Alarms['make']
  /** @deprecated Use `cancel`. */
  cancelled?: Alarms['cancel']
}
export const Alarms = token<Alarms>('alarms')

export const ScheduleFired = z
  .object({
    agent_id: z.string(),
    schedule_id: z.string(),
    goal_id: z.string(),
    slot: z.iso.datetime().nullable().describe('Scheduled time; null if the schedule counts cycles'),
  })
  .describe('A schedule created a goal for its agent')
export const ScheduleSkipped = z
  .object({
    agent_id: z.string(),
    schedule_id: z.string(),
    slots: z.int(),
    reason: z.string(),
  })
  .describe('A schedule skipped slots')
export const ScheduleChanged = z
  .object({
    agent_id: z.string(),
    schedule_id: z.string(),
    change: z.enum(['added', 'enabled', 'disabled', 'removed']),
  })
  .describe('A schedule was added, removed, enabled or disabled')
export const AlarmFired = z
  .object({ agent_id: z.string(), alarm_id: z.string(), description: z.string() })
  .describe('An alarm fired')
export const AlarmChanged = z
  .object({
    agent_id: z.string(),
    alarm_id: z.string(),
    change: z.enum(['set', 'moved', 'cancelled']),
  })
  .describe('An alarm was set, moved or cancelled')

declare module '#kernel' {
  interface Events {
    schedule_fired: z.infer<typeof ScheduleFired>
    schedule_skipped: z.infer<typeof ScheduleSkipped>
    schedule_changed: z.infer<typeof ScheduleChanged>
    alarm_fired: z.infer<typeof AlarmFired>
    alarm_changed: z.infer<typeof AlarmChanged>
  }
}

export const ScheduleNotFoundError = defineError({
  code: 'schedule_not_found',
  status: 404,
  title: 'Schedule not found',
  message: (p: { schedule_id: string; whose: string }) =>
    `There is no schedule "${p.schedule_id}"${p.whose ? `${p.whose}.` : '; list them with: svc schedules'}`,
})
export const AlarmNotFoundError = defineError({
  code: 'alarm_not_found',
  status: 404,
  title: 'Alarm not found',
  message: (p: { alarm_id: string; whose: string }) =>
    `There is no pending alarm "${p.alarm_id}"${p.whose ? `${p.whose}.` : '; list them with: svc alarms'}`,
})
/** The schedule is invalid: it has no objective, more than one rhythm, or one that never recurs. */
export const BadScheduleError = defineError({
  code: 'bad_schedule',
  status: 422,
  exit: 2,
  title: 'Invalid schedule',
  message: (p: { problem: string }) => p.problem,
})
/** The time of the alarm is unreadable, has passed or is more than a hundred years ahead. */
export const BadAlarmError = defineError({
  code: 'bad_alarm',
  status: 422,
  exit: 2,
  title: 'Invalid alarm',
  message: (p: { problem: string }) => p.problem,
})
export const TooManySchedulesError = defineError({
  code: 'too_many_schedules',
  status: 409,
  title: 'Too many schedules',
  message: (p: { what: string; limit: number }) =>
    `The agent already has ${p.limit} ${p.what}, the maximum (schedules.max_per_agent); cancel one first.`,
})
