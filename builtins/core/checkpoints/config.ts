import { z } from '#kernel'

export const CheckpointsConfig = z.object({
  keep: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(10)
    .meta({ reload: 'applied' })
    .describe('Checkpoints kept for each agent, requested and automatic ones counted apart'),
  every_cycles: z
    .number()
    .int()
    .min(0)
    .default(0)
    .meta({ reload: 'applied' })
    .describe('Cycles of an agent from one automatic checkpoint to the next; 0 takes none'),
  at_shutdown: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe('Whether a daemon that stops takes one of each living agent that has changed'),
  grace: z
    .number()
    .min(0)
    .max(600)
    .default(2)
    .meta({ reload: 'applied' })
    .describe('Seconds that it has for that, for all agents together'),
})
export type CheckpointsConfig = z.infer<typeof CheckpointsConfig>
