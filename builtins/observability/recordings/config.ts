import { z } from '#kernel'

export const RecordingsConfig = z.object({
  enabled: z
    .boolean()
    .default(true)
    .meta({ reload: 'restart_required', env: 'SVC_RECORDINGS' })
    .describe('Whether runs are recorded, so that they can be replayed with: svc replay'),
  max_mb: z
    .number()
    .positive()
    .max(16_384)
    .default(64)
    .describe('Maximum compressed size of a recording, in megabytes; the rest of the run is not recorded'),
  max_state_mb: z
    .number()
    .positive()
    .max(16_384)
    .default(64)
    .describe('Maximum size of the initial database, in megabytes; a run with a larger one is not recorded'),
})
export type RecordingsConfig = z.infer<typeof RecordingsConfig>
