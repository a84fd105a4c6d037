import { z } from '#kernel'

/** The keys of section `daemon` that configure waking. */
export const WakingConfig = z.object({
  wake_poll_interval: z
    .number()
    .positive()
    .max(86_400)
    .default(1)
    .meta({ reload: 'applied' })
    .describe(
      'Polling interval in seconds for messages, nudges and changed files where the system reports no file events',
    ),
  watch_files: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^\0]*$/, 'must not contain a NUL character'),
    )
    .default([])
    .meta({ reload: 'restart_required' })
    .describe('Files and folders whose changes wake all agents; relative to the project, `~/` is the home folder'),
})
export type WakingConfig = z.infer<typeof WakingConfig>
