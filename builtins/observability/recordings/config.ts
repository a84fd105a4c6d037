import { z } from '#kernel'

export const RecordingsConfig = z.object({
  enabled: z
    .boolean()
    .default(true)
    .meta({ reload: 'restart_required', env: 'SVC_RECORDINGS' })
    .describe('Whether what a run cannot repeat by itself is recorded, for: svc replay'),
  max_mb: z
    .number()
    .positive()
    .max(16_384)
    .default(64)
    .describe('Megabytes that one run may record, compressed; what comes later is left out'),
  max_state_mb: z
    .number()
    .positive()
    .max(16_384)
    .default(64)
    .describe('A run that begins with a larger database, in megabytes, is not recorded'),
})
export type RecordingsConfig = z.infer<typeof RecordingsConfig>
