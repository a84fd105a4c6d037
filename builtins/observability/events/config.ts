import { z } from '#kernel'

/** Configuration section at the top level. */
export const EventLogConfig = z.object({
  event_log_fsync: z
    .boolean()
    .default(false)
    .meta({ reload: 'applied', env: 'SVC_EVENT_LOG_FSYNC' })
    .describe('Whether the event log is flushed to the disk after each write'),
})
