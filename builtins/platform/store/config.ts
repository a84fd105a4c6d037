import { z } from '#kernel'

export const StoreConfig = z.object({
  url: z
    .string()
    .default('')
    .meta({ env: 'SVC_STORE_URL', secret: true })
    .describe(
      "URL of a database shared by several machines, such as postgres://user@host/name; empty uses the project's own file",
    ),
  synchronous: z
    .enum(['normal', 'full'])
    .default('normal')
    .describe(
      'normal: writes survive a crash of the process; full: also a crash of the machine, at one fsync per write',
    ),
})
