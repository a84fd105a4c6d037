import { z } from '#kernel'
import { isZone } from './calendar.ts'

export const SchedulesConfig = z.object({
  missed: z
    .enum(['once', 'skip'])
    .default('once')
    .meta({ reload: 'applied' })
    .describe(
      'How to treat slots missed while nothing could run. once: start one goal for all of them; skip: start none',
    ),
  grace: z
    .number()
    .min(1)
    .max(86_400)
    .default(60)
    .meta({ reload: 'applied' })
    .describe('Seconds that a slot may be late before it counts as missed'),
  time_zone: z
    .string()
    .refine(isZone, 'must be a time zone such as Europe/Berlin')
    .default('UTC')
    .meta({ reload: 'applied' })
    .describe('Time zone of cron expressions and alarm times that name none, such as Europe/Berlin'),
  max_per_agent: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .meta({ reload: 'applied' })
    .describe('Maximum number of enabled schedules, and of pending alarms, of one agent'),
})
export type SchedulesConfig = z.infer<typeof SchedulesConfig>
