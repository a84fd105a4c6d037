import { z } from '#kernel'

/** The section `delegation`. */
export const DelegationConfig = z.object({
  accept: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe('Whether agents accept delegations from others; if false, each one is rejected'),
  max_active_goals: z
    .int()
    .min(1)
    .default(5)
    .meta({ reload: 'applied' })
    .describe('Number of active goals at which an agent rejects further delegations'),
  max_pending: z
    .int()
    .min(1)
    .default(8)
    .meta({ reload: 'applied' })
    .describe('Maximum number of open delegations that one agent has given'),
  max_depth: z
    .int()
    .min(1)
    .max(20)
    .default(3)
    .meta({ reload: 'applied' })
    .describe('Maximum number of times that a task may be delegated further'),
  timeout: z
    .number()
    .min(0)
    .default(86_400)
    .meta({ reload: 'applied' })
    .describe('Seconds after which an unfinished delegated goal is abandoned; 0 sets no limit'),
})
export type DelegationConfig = z.infer<typeof DelegationConfig>
