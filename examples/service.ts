// A service in place of a built-in one: presets come from a table in code (it could be a team's database), not from
// files.
// The newest provider of a token is used everywhere until its plugin is removed; then the previous one is used again.
import { definePlugin, ProfileNotFoundError, Profiles } from 'svc'
import { Profile } from 'svc/profiles'

const PRESETS = [
  Profile.parse({ name: 'gardener', role: 'Looks after a garden', max_steps: 5 }),
  Profile.parse({ name: 'cook', role: 'Cooks what the garden gives', max_steps: 5 }),
]

export default definePlugin({
  name: 'team-presets',
  description: 'Presets of the team, instead of those in profiles/.',
  setup(svc) {
    const read = async (name: string) => {
      const preset = PRESETS.find(each => each.name === name)
      if (!preset) throw new ProfileNotFoundError({ name, known: PRESETS.map(each => each.name) })
      return preset
    }
    svc.provide(Profiles, {
      read,
      get: read,
      skills: async () => '',
      names: async () => PRESETS.map(({ name }) => name),
      list: async () =>
        PRESETS.map(profile => ({ name: profile.name, file: 'plugins/service.ts', profile, error: null })),
    })
  },
})
