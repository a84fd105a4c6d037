import { z } from '#kernel'

/** The section `delegation`. */
export const DelegationConfig = z.object({
  accept: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe('Whether agents take what others delegate to them; false answers each with a rejection'),
  max_active_goals: z
    .number()
    .int()
    .min(1)
    .default(5)
    .meta({ reload: 'applied' })
    .describe('Maximum active goals of an agent that takes a delegation'),
  max_pending: z
    .number()
    .int()
    .min(1)
    .default(8)
    .meta({ reload: 'applied' })
    .describe('Maximum open delegations of one agent'),
  max_depth: z
    .number()
    .int()
    .min(1)
    .max(20)
    .default(3)
    .meta({ reload: 'applied' })
    .describe('Number of times that a task may be delegated further'),
  timeout: z
    .number()
    .min(0)
    .default(86_400)
    .meta({ reload: 'applied' })
    .describe('Seconds after which a delegated goal that has not ended is given up; 0 sets no limit'),
})
export type DelegationConfig = z.infer<typeof DelegationConfig>
