import { operation, z } from '#kernel'
import { Profile, ProfileNotFoundError, Profiles } from './contract.ts'

const Preset = z.object({
  name: z.string().describe('Name of the profile, used to spawn agents from it'),
  file: z.string(),
  error: z.string().nullable().describe('Why the profile cannot be used; null if it can'),
  profile: Profile.nullable(),
})
type Preset = z.infer<typeof Preset>

export const profilesList = operation({
  name: 'profiles.list',
  summary: 'List profiles, or show one in full',
  description:
    'Returns the profiles, the presets that agents are spawned from. Invalid files are listed with their error.',
  input: z.strictObject({
    name: z.string().min(1).max(64).optional().describe('Only show the profile with this name'),
  }),
  output: z.array(Preset),
  http: { method: 'GET', path: '/profiles' },
  cli: { usage: 'profiles [name]' },
  mcp: true,
  reach: 'store',
  errors: [ProfileNotFoundError],
  render: presets => (presets.length === 1 ? renderProfile(presets[0]!) : asTable(presets)),
  async run({ name }, { svc }) {
    const all = await svc.use(Profiles).list()
    if (name === undefined) return all
    const one = all.filter(preset => preset.name === name)
    if (one.length === 0) throw new ProfileNotFoundError({ name, known: all.map(preset => preset.name) })
    return one
  },
})

export const profileOperations = [profilesList]

function asTable(presets: readonly Preset[]): string {
  const width = Math.max(4, ...presets.map(({ name }) => name.length)) + 2
  const rows = presets.map(({ name, profile, error }) => {
    const text = profile ? `${String(profile.max_steps).padEnd(7)}${cut(profile.role, 90)}` : `not usable: ${error}`
    return name.padEnd(width) + text
  })
  return [`${'NAME'.padEnd(width)}${'STEPS'.padEnd(7)}ROLE`, ...rows].join('\n')
}

function renderProfile({ name, file, error, profile }: Preset): string {
  if (!profile) return `${name}\n  not usable: ${error}`
  const { personality, persona, system_prompt, ...plain } = profile
  const entries = Object.entries({ file, ...plain, ...personality, ...persona })
  const width = Math.max(...entries.map(([key]) => key.length)) + 2
  const fields = entries.map(([key, value]) => `  ${key.padEnd(width)}${formatValue(value)}`)
  const prompt = system_prompt.trimEnd().split('\n')
  return [name, ...fields, '  system_prompt', ...prompt.map(line => `    ${line}`.trimEnd())].join('\n')
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(', ') || '-'
  if (value === null || value === '') return '-'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function cut(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}
