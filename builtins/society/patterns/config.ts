import { z } from '#kernel'

export const PatternsConfig = z.object({
  timeout: z
    .number()
    .min(1)
    .default(3_600)
    .meta({ reload: 'applied' })
    .describe('Time limit of a pattern run in seconds, after which it ends with a partial result'),
  max_running: z
    .int()
    .min(1)
    .default(5)
    .meta({ reload: 'applied' })
    .describe('Maximum number of patterns that one initiator may run at the same time'),
  answer_timeout: z
    .number()
    .min(1)
    .default(1_800)
    .meta({ reload: 'applied' })
    .describe('Seconds after which a participant without an answer counts as having declined'),
  budget_usd: z
    .number()
    .min(0)
    .default(0)
    .meta({ reload: 'applied' })
    .describe('Default budget of one pattern, in USD; 0 sets no limit'),
  budget_tokens: z
    .int()
    .min(0)
    .default(0)
    .meta({ reload: 'applied' })
    .describe('Default budget of one pattern, in tokens; 0 sets no limit'),
})
export type PatternsConfig = z.infer<typeof PatternsConfig>
