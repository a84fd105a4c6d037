import { z } from '#kernel'

export const SessionsConfig = z.object({
  session_ttl_hours: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('Hours of idleness after which a running session expires; 0: never'),
})
export type SessionsConfig = z.infer<typeof SessionsConfig>
