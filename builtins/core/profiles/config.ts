import { z } from '#kernel'

/** Profile settings, a top-level key of the configuration. */
export const ProfilesConfig = z.object({
  profiles_dir: z
    .string()
    .regex(/^[^\0]*$/, 'must not contain a NUL character')
    .default('')
    .meta({ env: 'SVC_PROFILES_DIR', reload: 'restart_required' })
    .describe('Folder of the profiles, relative to the project; if empty, profiles/ and then the packaged ones'),
})
