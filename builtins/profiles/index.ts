import { definePlugin, taken, z } from '#kernel'
import { Profiles } from './contract.ts'
import { profileOperations } from './operations.ts'
import { ProfileFiles } from './profiles.ts'

const Folder = z.object({
  profiles_dir: z
    .string()
    .regex(/^[^\0]*$/, 'must not hold a NUL')
    .default('')
    .meta({ env: 'SVC_PROFILES_DIR', reload: 'restart_required' })
    .describe('Folder of the presets, relative to the project; empty takes profiles/ and then the packaged ones'),
})

export default definePlugin({
  name: 'profiles',
  description: 'Presets that agents are spawned from, and the skills that presets name.',
  setup(svc) {
    const { profiles_dir } = svc.section('', Folder)
    const profiles = new ProfileFiles(svc, profiles_dir)
    svc.provide(Profiles, {
      read: name => taken(`profile ${name}`, () => profiles.read(name)),
      get: async (name, when) =>
        taken(`profile ${name}`, () => (when === 'beat' && profiles.fresh(name)) || profiles.get(name)),
      skills: async profile =>
        profile.skills.length === 0 ? '' : taken(`skills of ${profile.name}`, () => profiles.skills(profile)),
      names: () => profiles.names(),
      list: () => profiles.list(),
    })
    for (const operation of profileOperations(profiles)) svc.operation(operation)
  },
})
