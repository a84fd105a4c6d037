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
      'Seconds within which messages, nudges and changed files are found where the system does not tell of them',
    ),
  watch_files: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^\0]*$/, 'must not hold a NUL'),
    )
    .default([])
    .meta({ reload: 'restart_required' })
    .describe('Files and folders whose changes wake all agents; relative to the project, `~/` is the home folder'),
})
export type WakingConfig = z.infer<typeof WakingConfig>
