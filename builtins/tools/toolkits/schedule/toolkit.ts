import { type PluginHandle, z } from '#kernel'
import { BadScheduleError, type Schedule, Schedules } from '#platform/schedules/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'

/** Tools for recurring goals that an agent sets itself. */
export function scheduleToolkit(svc: PluginHandle): Toolkit {
  return {
    name: 'schedule',
    tools: [
      tool({
        name: 'schedule_goal',
        description:
          'Give yourself a recurring goal: at times of the day or week (cron), or after a number of your cycles (every_n_cycles). It becomes active each time, unless the previous one is still active.',
        parameters: z.object({
          objective: z.string().trim().min(1).max(500).describe('The goal to reach each time, in one sentence'),
          every_n_cycles: z.coerce
            .number()
            .int()
            .min(1)
            .max(1_000_000)
            .optional()
            .describe('Interval in cycles; 10 means every tenth cycle'),
          cron: z
            .string()
            .trim()
            .min(1)
            .max(100)
            .optional()
            .describe('Cron expression; "0 8 * * *" means every morning at 8, "0 9 * * 1-5" at 9 on weekdays'),
          time_zone: z
            .string()
            .min(1)
            .max(64)
            .optional()
            .describe('Time zone of the cron expression, such as "Europe/Berlin"'),
        }),
        async execute({ objective, ...timing }, call) {
          const { agent_id } = call
          if ((timing.every_n_cycles === undefined) === (timing.cron === undefined))
            throw new BadScheduleError({ problem: 'Give either every_n_cycles (10) or cron ("0 8 * * *").' })
          const { schedule_id, next, effects } = await svc
            .use(Schedules)
            .make({ agent_id, objective, ...timing, created_by: 'agent' })
          for (const effect of effects) call.effect(effect)
          return `Scheduled as ${schedule_id}; the first time is ${next}.`
        },
      }),
      tool({
        name: 'list_schedules',
        description: 'List your schedules with their recurring goals and next times.',
        parameters: z.object({}),
        read_only: true,
        async execute(_, { agent_id }) {
          const schedules = await svc.use(Schedules).list(agent_id, false)
          return schedules.map(line).join('\n') || '[You have no schedules.]'
        },
      }),
      tool({
        name: 'cancel_schedule',
        description: 'Cancel one of your schedules. Goals that it already created stay.',
        parameters: z.object({
          schedule_id: z.string().min(1).max(128).describe('Id of the schedule, as list_schedules shows it'),
        }),
        idempotent: true,
        async execute({ schedule_id }, call) {
          for (const effect of await svc.use(Schedules).cancel(schedule_id, call.agent_id)) call.effect(effect)
          return `${schedule_id} is cancelled.`
        },
      }),
    ],
  }
}

function line({
  schedule_id,
  objective,
  every_n_cycles,
  every,
  cron,
  time_zone,
  next_at,
  next_cycle,
}: Schedule): string {
  const often =
    every_n_cycles !== null
      ? `every ${every_n_cycles === 1 ? 'cycle' : `${every_n_cycles} cycles`}`
      : every !== null
        ? `every ${every} s`
        : `${cron} (${time_zone})`
  return `${schedule_id}  ${often}, next ${next_at ?? `with cycle ${next_cycle}`}: ${objective}`
}
