import { z } from '#kernel'

/** Section `a2a`. */
export const A2AConfig = z.object({
  max_body: z
    .int()
    .min(1)
    .max(100_000)
    .default(8_000)
    .meta({ reload: 'applied' })
    .describe('Maximum length of a message between agents, in characters'),
  max_unread: z
    .int()
    .min(1)
    .default(200)
    .meta({ reload: 'applied' })
    .describe('Maximum number of unread messages of an agent; further messages are rejected'),
  max_thread: z
    .int()
    .min(2)
    .default(40)
    .meta({ reload: 'applied' })
    .describe('Maximum number of messages in a thread, so that two agents do not answer each other endlessly'),
  max_exchange: z
    .int()
    .min(2)
    .default(30)
    .meta({ reload: 'applied' })
    .describe('Maximum number of messages between two agents within ten minutes, over all of their threads'),
})
export type A2AConfig = z.infer<typeof A2AConfig>
