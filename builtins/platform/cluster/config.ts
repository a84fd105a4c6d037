import { z } from '#kernel'

export const ClusterConfig = z.object({
  lease: z
    .number()
    .min(1)
    .max(600)
    .default(15)
    .describe('Seconds after which others take over what a node that fell silent was driving'),
  listen_url: z
    .string()
    .default('')
    .meta({ env: 'SVC_LISTEN_URL', secret: true })
    .describe(
      'A direct connection to the database, where store.url goes through a pool of transactions; empty: store.url',
    ),
})
export type ClusterConfig = z.infer<typeof ClusterConfig>
