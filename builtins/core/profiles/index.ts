import { ModelUsers } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { ConfigChecks } from '#platform/settings/contract'
import { ProfilesConfig } from './config.ts'
import { Profiles } from './contract.ts'
import { profileOperations } from './operations.ts'
import { ProfileFiles } from './profiles.ts'

export default definePlugin({
  name: 'profiles',
  description: 'Presets that agents are spawned from, and the skills that presets name.',
  setup(svc) {
    const { profiles_dir } = svc.section('', ProfilesConfig)
    const profiles = new ProfileFiles(svc, profiles_dir)
    svc.provide(Profiles, {
      read: name => recordInput(`profile ${name}`, () => profiles.read(name)),
      get: async (name, when) =>
        recordInput(`profile ${name}`, () => (when === 'beat' && profiles.cachedProfile(name)) || profiles.get(name)),
      skills: async profile =>
        profile.skills.length === 0 ? '' : recordInput(`skills of ${profile.name}`, () => profiles.skills(profile)),
      names: () => profiles.names(),
      list: () => profiles.list(),
    })
    svc.add(ModelUsers, {
      name: 'profiles',
      async models() {
        const all = await profiles.list()
        return all.flatMap(({ profile }) => (profile ? [profile.model, ...profile.fallback] : []))
      },
    })
    svc.add(ConfigChecks, { name: 'profiles', forbids: 'nothing', check: () => profiles.faults() })
  },
  base(svc) {
    for (const operation of profileOperations) svc.operation(operation)
  },
})
