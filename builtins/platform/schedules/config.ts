import { z } from '#kernel'
import { isZone } from './calendar.ts'

export const SchedulesConfig = z.object({
  missed: z
    .enum(['once', 'skip'])
    .default('once')
    .meta({ reload: 'applied' })
    .describe('What becomes of slots that passed while nothing could run: all together run once, or are skipped'),
  grace: z
    .number()
    .min(1)
    .max(86_400)
    .default(60)
    .meta({ reload: 'applied' })
    .describe('Seconds that a slot may be late without counting as missed'),
  time_zone: z
    .string()
    .refine(isZone, 'must be a time zone such as Europe/Berlin')
    .default('UTC')
    .meta({ reload: 'applied' })
    .describe('Where the times of cron expressions and alarms are meant when they do not say so, as in Europe/Berlin'),
  max_per_agent: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .meta({ reload: 'applied' })
    .describe('Schedules that an agent may have enabled, and alarms that it may have pending'),
})
export type SchedulesConfig = z.infer<typeof SchedulesConfig>
