import { z } from '#kernel'

export const StoreConfig = z.object({
  url: z
    .string()
    .default('')
    .meta({ env: 'SVC_STORE_URL', secret: true })
    .describe(
      "Where the database of several machines is, as in postgres://user@host/name; empty: the project's own file",
    ),
  synchronous: z
    .enum(['normal', 'full'])
    .default('normal')
    .describe('normal: survives the death of the process; full: of the machine too, at one fsync a write'),
})
