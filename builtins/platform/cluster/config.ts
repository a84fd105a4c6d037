import { z } from '#kernel'

export const ClusterConfig = z.object({
  lease: z
    .number()
    .min(1)
    .max(600)
    .default(15)
    .describe('Seconds after which other nodes take over the agents of a silent node'),
  listen_url: z
    .string()
    .default('')
    .meta({ env: 'SVC_LISTEN_URL', secret: true })
    .describe('URL of a direct database connection, for when store.url uses a transaction pooler; empty: store.url'),
})
export type ClusterConfig = z.infer<typeof ClusterConfig>
