import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { ACCEPTANCE_OPTIONS, Acceptance } from '#core/goals/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { idSchema } from '#lib/id-schema'
import { Store } from '#platform/store/contract'
import { CommandError } from '#tools/toolkits/shell/contract'
import { shownAlarm } from './alarm-repository.ts'
import { OwnAlarms } from './alarms.ts'
import {
  Alarm,
  AlarmNotFoundError,
  BadAlarmError,
  BadScheduleError,
  Schedule,
  ScheduleNotFoundError,
  TooManySchedulesError,
} from './contract.ts'
import { alarmLine, renderAlarms, renderSchedules, scheduleLine } from './render.ts'
import { toSchedule } from './repository.ts'
import { OwnSchedules } from './schedules.ts'

const id = AgentRef
const agent = id.optional().describe('Id or name of the agent to filter by; all agents by default')
const schedule_id = idSchema("A schedule's id", 'sched-1a2b3c4d')
const alarm_id = idSchema("An alarm's id", 'alarm-1a2b3c4d')
const found = [AgentNotFoundError, AmbiguousAgentError] as const
const at = z
  .string()
  .min(1)
  .max(64)
  .meta({ examples: ['2030-01-31T18:00:00Z'] })
  .describe(
    'Time: ISO 8601 or HH:MM, each with an optional time zone (default: schedules.time_zone), or "in 5 minutes"',
  )
const description = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .meta({ examples: ['Look whether the build is green'] })
  .describe('Message to the agent')

/** Returns the id of a living agent. @throws AgentDeadError */
async function liveAgent(svc: PluginHandle, ref: string): Promise<string> {
  const { agent_id, died_at } = await svc.use(Agents).find(ref)
  if (died_at !== null) throw new AgentDeadError({ agent_id })
  return agent_id
}

const idOf = async (svc: PluginHandle, ref: string | undefined) =>
  ref === undefined ? undefined : (await svc.use(Agents).find(ref)).agent_id

export const schedulesAll = operation({
  name: 'schedules.all',
  summary: 'List recurring goals, of all agents or of one',
  description: 'A schedule creates a goal for an agent at each of its times.',
  input: z.object({ agent }),
  output: z.array(Schedule),
  http: { method: 'GET', path: '/schedules' },
  cli: { usage: 'schedules [agent]' },
  mcp: true,
  errors: found,
  run: async ({ agent }, { svc }) => svc.use(OwnSchedules).list(await idOf(svc, agent)),
  render: renderSchedules,
})

export const schedulesList = operation({
  name: 'schedules.list',
  summary: "List an agent's schedules, oldest first",
  description: 'A schedule creates a goal for the agent at each of its times.',
  input: z.object({ id }),
  output: z.array(Schedule),
  http: { method: 'GET', path: '/agents/{id}/schedules' },
  errors: found,
  run: async ({ id }, { svc }) => svc.use(OwnSchedules).list(await idOf(svc, id)),
})

export const schedulesAdd = operation({
  name: 'schedules.add',
  summary: 'Add a recurring goal',
  description:
    'The schedule creates the goal every number of cycles, every number of seconds, or by the calendar (cron).',
  input: z.strictObject({
    id,
    objective: z
      .string()
      .trim()
      .min(1)
      .max(4000)
      .meta({ examples: ['Tidy up the notepad'] })
      .describe('The goal of each run, in plain words'),
    every_n_cycles: z.int().min(1).max(1_000_000).optional().describe('Interval in cycles of the agent'),
    every: z.number().min(1).max(31_536_000).optional().describe('Interval in seconds'),
    cron: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .meta({ examples: ['0 9 * * 1-5'] })
      .describe('Cron expression: minute, hour, day, month, weekday'),
    time_zone: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ examples: ['Europe/Berlin'] })
      .describe('Time zone of the cron expression (default: schedules.time_zone)'),
    missed: z
      .enum(['once', 'skip'])
      .optional()
      .describe('How to treat slots missed while nothing could run (default: schedules.missed)'),
    priority: z.int().min(1).max(10).default(4).describe('Priority from 1 to 10; higher goes first'),
    acceptance: z
      .array(Acceptance)
      .max(20)
      .default([])
      .describe('Criteria that must be met before a goal of the schedule counts as reached'),
  }),
  output: Schedule,
  http: {
    method: 'POST',
    path: '/agents/{id}/schedules',
    status: 201,
    idempotent: true,
    location: ({ schedule_id }: Schedule) => `/schedules/${schedule_id}`,
  },
  cli: {
    usage: 'schedules add <id> <objective...>',
    short: { every_n_cycles: 'n', cron: 'c', priority: 'p' },
    lists: ACCEPTANCE_OPTIONS,
    example: 'schedules add coder-1a2b3c4d "Tidy up the notepad" --cron "0 9 * * 1-5"',
  },
  mcp: true,
  errors: [...found, AgentDeadError, BadScheduleError, TooManySchedulesError, CommandError, ScheduleNotFoundError],
  notice: services => services.use(Agents).blockOfAll(),
  async run({ id, ...given }, { svc, effects: also = [] }) {
    const agent_id = await liveAgent(svc, id)
    const { schedule_id, effects } = await svc.use(OwnSchedules).make({ agent_id, created_by: 'operator', ...given })
    await svc.use(Store).apply([...effects, ...also])
    return toSchedule(await svc.use(OwnSchedules).find(schedule_id))
  },
  render: scheduleLine,
})

export const schedulesGet = operation({
  name: 'schedules.get',
  summary: 'Show a schedule',
  description: 'Includes its next time, and how often it fired and was skipped.',
  input: z.object({ schedule_id }),
  output: Schedule,
  http: { method: 'GET', path: '/schedules/{schedule_id}' },
  errors: [ScheduleNotFoundError],
  run: async ({ schedule_id }, { svc }) => toSchedule(await svc.use(OwnSchedules).find(schedule_id)),
})

export const schedulesUpdate = operation({
  name: 'schedules.update',
  summary: 'Enable or disable a schedule',
  description: 'Slots missed while the schedule was disabled are not made up for.',
  input: z.strictObject({ schedule_id, enabled: z.boolean().describe('Whether the schedule is enabled') }),
  output: Schedule,
  http: { method: 'PATCH', path: '/schedules/{schedule_id}' },
  cli: [
    { usage: 'schedules enable <schedule_id>', summary: 'Enable a schedule', preset: { enabled: true } },
    { usage: 'schedules disable <schedule_id>', summary: 'Disable a schedule', preset: { enabled: false } },
  ],
  mcp: true,
  errors: [ScheduleNotFoundError],
  run: ({ schedule_id, enabled }, { svc }) => svc.use(OwnSchedules).switch(schedule_id, enabled),
  render: scheduleLine,
})

export const schedulesRemove = operation({
  name: 'schedules.remove',
  summary: 'Remove a schedule',
  description: 'Goals that the schedule created are kept.',
  input: z.object({ schedule_id }),
  output: z.null(),
  http: { method: 'DELETE', path: '/schedules/{schedule_id}', status: 204 },
  cli: { usage: 'schedules remove <schedule_id>' },
  mcp: true,
  errors: [ScheduleNotFoundError],
  async run({ schedule_id }, { svc }) {
    await svc.use(OwnSchedules).remove(schedule_id)
    return null
  },
  render: () => 'removed',
})

export const scheduleOperations = [
  schedulesAll,
  schedulesList,
  schedulesAdd,
  schedulesGet,
  schedulesUpdate,
  schedulesRemove,
]

export const alarmsAll = operation({
  name: 'alarms.all',
  summary: 'List pending alarms, next first',
  description: 'An alarm wakes an agent at a set time and delivers a message.',
  input: z.object({ agent, all: z.boolean().default(false).describe('Include alarms that have fired') }),
  output: z.array(Alarm),
  http: { method: 'GET', path: '/alarms' },
  cli: { usage: 'alarms [agent]', short: { all: 'a' } },
  mcp: true,
  errors: found,
  run: async ({ agent, all }, { svc }) => svc.use(OwnAlarms).list(await idOf(svc, agent), all),
  render: renderAlarms,
})

export const alarmsList = operation({
  name: 'alarms.list',
  summary: "List an agent's pending alarms, next first",
  description: 'An alarm wakes the agent at a set time and delivers a message.',
  input: z.object({ id }),
  output: z.array(Alarm),
  http: { method: 'GET', path: '/agents/{id}/alarms' },
  errors: found,
  run: async ({ id }, { svc }) => svc.use(OwnAlarms).list(await idOf(svc, id)),
})

export const alarmsSet = operation({
  name: 'alarms.set',
  summary: 'Set an alarm for an agent',
  description: 'At the given time, the agent is woken and receives the message.',
  input: z.strictObject({ id, at, description }),
  output: Alarm,
  http: {
    method: 'POST',
    path: '/agents/{id}/alarms',
    status: 201,
    idempotent: true,
    location: ({ alarm_id }: Alarm) => `/alarms/${alarm_id}`,
  },
  cli: { usage: 'alarms set <id> <at> <description...>' },
  mcp: true,
  errors: [...found, AgentDeadError, BadAlarmError, TooManySchedulesError, AlarmNotFoundError],
  async run({ id, at, description }, { svc, effects: also = [] }) {
    const agent_id = await liveAgent(svc, id)
    const time = await svc.use(OwnAlarms).timeOf(at)
    const { alarm_id, effects } = await svc
      .use(OwnAlarms)
      .make({ agent_id, description, at: time, created_by: 'operator' })
    await svc.use(Store).apply([...effects, ...also])
    return shownAlarm(await svc.use(OwnAlarms).find(alarm_id))
  },
  render: alarmLine,
})

export const alarmsGet = operation({
  name: 'alarms.get',
  summary: 'Show a pending alarm',
  description: 'An alarm that has fired is not found.',
  input: z.object({ alarm_id }),
  output: Alarm,
  http: { method: 'GET', path: '/alarms/{alarm_id}' },
  errors: [AlarmNotFoundError],
  run: async ({ alarm_id }, { svc }) => shownAlarm(await svc.use(OwnAlarms).find(alarm_id)),
})

export const alarmsUpdate = operation({
  name: 'alarms.update',
  summary: "Change an alarm's time or text",
  description: 'An alarm that has fired is not found.',
  input: z.strictObject({ alarm_id, at: at.optional(), description: description.optional() }),
  output: Alarm,
  http: { method: 'PATCH', path: '/alarms/{alarm_id}' },
  cli: { usage: 'alarms move <alarm_id> [at]', example: 'alarms move alarm-1a2b3c4d 18:00' },
  mcp: true,
  errors: [AlarmNotFoundError, BadAlarmError],
  run: async ({ alarm_id, at, description }, { svc }) =>
    svc
      .use(OwnAlarms)
      .change(alarm_id, { description, at: at === undefined ? undefined : await svc.use(OwnAlarms).timeOf(at) }),
  render: alarmLine,
})

export const alarmsCancel = operation({
  name: 'alarms.cancel',
  summary: 'Cancel a pending alarm',
  description: 'An alarm that has fired is not found.',
  input: z.object({ alarm_id }),
  output: z.null(),
  http: { method: 'DELETE', path: '/alarms/{alarm_id}', status: 204 },
  cli: { usage: 'alarms cancel <alarm_id>' },
  mcp: true,
  errors: [AlarmNotFoundError],
  async run({ alarm_id }, { svc }) {
    const { agent_id } = await svc.use(OwnAlarms).find(alarm_id)
    await svc.use(Store).apply(await svc.use(OwnAlarms).cancel(alarm_id, agent_id))
    return null
  },
  render: () => 'cancelled',
})

export const alarmOperations = [alarmsAll, alarmsList, alarmsSet, alarmsGet, alarmsUpdate, alarmsCancel]
