import { z } from '#kernel'

/** Section `a2a`. */
export const A2AConfig = z.object({
  max_body: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(8_000)
    .meta({ reload: 'applied' })
    .describe('Characters that one message between agents may have'),
  max_unread: z
    .number()
    .int()
    .min(1)
    .default(200)
    .meta({ reload: 'applied' })
    .describe('Unread messages that an agent may have before it takes no more'),
  max_thread: z
    .number()
    .int()
    .min(2)
    .default(40)
    .meta({ reload: 'applied' })
    .describe('Messages of one thread, so that two agents do not answer each other for ever'),
  max_exchange: z
    .number()
    .int()
    .min(2)
    .default(30)
    .meta({ reload: 'applied' })
    .describe('Messages that two agents may exchange within ten minutes, over all of their threads'),
})
export type A2AConfig = z.infer<typeof A2AConfig>
