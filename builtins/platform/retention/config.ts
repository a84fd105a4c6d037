import { z } from '#kernel'

export const RetentionConfig = z.object({
  enabled: z
    .boolean()
    .default(false)
    .meta({ reload: 'applied' })
    .describe('Whether the daemon removes old data automatically'),
  days: z
    .int()
    .min(1)
    .max(36_500)
    .default(30)
    .meta({ reload: 'applied' })
    .describe(
      'Days for which ended records, and files of deleted agents, are kept; the newest 10,000 events always stay',
    ),
  ended_sub_agent_hours: z
    .int()
    .min(1)
    .max(876_000)
    .default(24)
    .meta({ reload: 'applied' })
    .describe(
      'Hours for which an ended sub-agent and its workspace are kept; its result and transcripts are kept for retention.days',
    ),
  interval_cycles: z
    .int()
    .min(1)
    .default(100)
    .meta({ reload: 'applied' })
    .describe('Heartbeats of the daemon between two automatic removals'),
  max_runs: z
    .int()
    .min(0)
    .default(50)
    .meta({ reload: 'applied' })
    .describe(
      'Number of ended runs that are kept, with their logs and recordings, even if retention is disabled; 0 keeps all',
    ),
})
export type RetentionConfig = z.infer<typeof RetentionConfig>
