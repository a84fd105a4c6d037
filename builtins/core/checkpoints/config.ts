import { z } from '#kernel'

export const CheckpointsConfig = z.object({
  keep: z
    .int()
    .min(1)
    .max(1000)
    .default(10)
    .meta({ reload: 'applied' })
    .describe('Number of checkpoints kept for each agent, counted separately for requested and automatic ones'),
  every_cycles: z
    .int()
    .min(0)
    .default(0)
    .meta({ reload: 'applied' })
    .describe('Number of cycles of an agent between automatic checkpoints; 0 for none'),
  at_shutdown: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe('Whether a stopping daemon saves a checkpoint of each living agent that has changed'),
  grace: z
    .number()
    .min(0)
    .max(600)
    .default(2)
    .meta({ reload: 'applied' })
    .describe('Time limit for saving the checkpoints of all agents when the daemon stops, in seconds'),
})
export type CheckpointsConfig = z.infer<typeof CheckpointsConfig>
