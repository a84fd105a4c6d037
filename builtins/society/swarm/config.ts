import { token, z } from '#kernel'

export const SwarmConfig = z.object({
  policy: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,63}$/)
    .default('passive')
    .meta({ reload: 'applied' })
    .describe(
      'Policy that acts on what is learned: `passive` (does nothing), `active`, or the name of a policy of a plugin',
    ),
})
export type SwarmConfig = z.infer<typeof SwarmConfig>

export const SwarmSettings = token<SwarmConfig>('swarm/config')
