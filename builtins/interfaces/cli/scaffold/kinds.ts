/** What `svc new plugin --kind` takes. `mix`: a configuration key, an event and an operation. */
export const PLUGIN_KINDS = [
  'mix',
  'tool',
  'guard',
  'hook',
  'wake-source',
  'goal-strategy',
  'operation',
  'service',
] as const
export type PluginKind = (typeof PLUGIN_KINDS)[number]

/** What `svc new project --template` takes. */
export const TEMPLATES = ['minimal', 'team', 'research'] as const
export type Template = (typeof TEMPLATES)[number]
/** The presets that a project begins with; all that are shipped where there are none. */
export const PRESETS: Readonly<Record<Template, readonly string[]>> = {
  minimal: [],
  team: ['coder', 'reviewer', 'tester'],
  research: ['researcher', 'writer', 'oracle'],
}
