import { z } from '#kernel'

export const WatchdogConfig = z.object({
  limit: z
    .number()
    .min(0.3)
    .max(3600)
    .default(15)
    .describe('Seconds without a turn of the event loop after which the process counts as blocked'),
})
export type WatchdogConfig = z.infer<typeof WatchdogConfig>
