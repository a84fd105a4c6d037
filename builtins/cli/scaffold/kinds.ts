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
