import { z } from '#kernel'

export const PatternsConfig = z.object({
  timeout: z
    .number()
    .min(1)
    .default(3_600)
    .meta({ reload: 'applied' })
    .describe('Seconds after which a pattern ends with what there is'),
  max_running: z
    .number()
    .int()
    .min(1)
    .default(5)
    .meta({ reload: 'applied' })
    .describe('Patterns of one agent that may run at the same time'),
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
  budget_tokens: z.number().int().min(0).default(0).meta({ reload: 'applied' }).describe('The same in tokens'),
})
export type PatternsConfig = z.infer<typeof PatternsConfig>
