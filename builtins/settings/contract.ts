import { z } from '#kernel'

/** Keys below their sections, as in the file; secrets are `***`. */
const Tree = z.record(z.string(), z.unknown())

const ReloadClass = z
  .enum(['applied', 'restart_required'])
  .describe('applied: in force with the next heartbeat; restart_required: with the next start')

const Reload = z.record(z.string(), ReloadClass).describe('One entry for each key that changed, by its dotted path')

const Source = z.enum(['file', 'env', 'default']).describe('Where a value comes from')

export const ConfigViews = z.object({
  persisted: Tree.describe('What .svc/config.yaml holds'),
  effective: Tree.describe('That with the environment over it and the defaults below it'),
  live: Tree.optional().describe('What is in force; only where the daemon runs in this process'),
  restart_required_fields: z.array(z.string()).describe('Keys that need a restart to take effect'),
  sources: z.record(z.string(), Source).describe('Where each effective value comes from, by dotted path'),
  problem: z
    .string()
    .optional()
    .describe(
      'What is not valid in the file or the environment; the views have the last valid values, else the defaults',
    ),
})
export type ConfigViews = z.infer<typeof ConfigViews>

/** A key that may be set, as an editor needs it. */
export const ConfigKey = z
  .object({
    key: z.string(),
    section: z.string().describe('The room that reads it'),
    schema: z.record(z.string(), z.unknown()).describe('JSON Schema of its value'),
    value: z.unknown().describe('The effective value; secrets are `***`'),
    default: z.unknown(),
    source: Source,
    env: z.string().nullable().describe('The environment variable that overrides the file'),
    secret: z.boolean(),
    reload: ReloadClass,
  })
  .meta({ id: 'ConfigKey' })
export type ConfigKey = z.infer<typeof ConfigKey>

export const ConfigPatched = z.object({ config: Tree.describe('What .svc/config.yaml holds now'), reload: Reload })

export const ConfigValue = z.object({
  key: z.string(),
  value: z.unknown().describe('The effective value'),
  source: Source,
  default: z.unknown(),
  env: z.string().nullable().describe('The environment variable that overrides the file'),
  reload: ReloadClass,
  description: z.string(),
})
export type ConfigValue = z.infer<typeof ConfigValue>

export const ConfigChanged = z.object({
  key: z.string(),
  value: z.unknown().describe('What the file holds now; null when it leaves the key to its default'),
  reload: ReloadClass.nullable().describe('null: the file said so already'),
  overridden_by: z.string().nullable().describe('The environment variable whose value counts instead'),
})
export type ConfigChanged = z.infer<typeof ConfigChanged>
