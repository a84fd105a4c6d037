import { defineError, type Issue, type Log, type ReloadClass as Reloads, type Token, token, z } from '#kernel'
import type { Forbids } from '#lib/config-check'
import type { Tree as Values } from '#lib/tree'

/** Keys nested in their sections, as in the file; secrets are `***`. */
const Tree = z.record(z.string(), z.unknown())

const ReloadClass = z
  .enum(['applied', 'restart_required'])
  .describe('applied: takes effect at the next heartbeat; restart_required: takes effect at the next start')

const Reload = z.record(z.string(), ReloadClass).describe('One entry for each key that changed, by its dotted path')

const Source = z.enum(['file', 'env', 'default']).describe('Source of a value')

export const ConfigViews = z.object({
  persisted: Tree.describe('Contents of .svc/config.yaml'),
  effective: Tree.describe('Values of the file, overridden by the environment and completed by the defaults'),
  live: Tree.optional().describe('Values in force; only present if the daemon runs in this process'),
  restart_required_fields: z.array(z.string()).describe('Keys that need a restart to take effect'),
  sources: z.record(z.string(), Source).describe('Source of each effective value, by dotted path'),
  problem: z
    .string()
    .optional()
    .describe('Error in the file or the environment; the views then hold the last valid values, or else the defaults'),
})
export type ConfigViews = z.infer<typeof ConfigViews>

/** A configuration key, as an editor needs it. */
export const ConfigKey = z
  .object({
    key: z.string(),
    section: z.string().describe('Module that reads the key'),
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

const Note = z
  .string()
  .describe(
    'Plugins that are disabled after a change of plugins.disabled, including those that need a disabled plugin; environment variables that override changed keys',
  )

export const ConfigPatched = z.object({
  config: Tree.describe('Contents of .svc/config.yaml after the change'),
  reload: Reload,
  note: Note.optional(),
})

export const ConfigValue = z.object({
  key: z.string(),
  value: z.unknown().describe('The effective value'),
  live: z.unknown().optional().describe('Value in force; only present if the daemon runs in this process'),
  source: Source,
  default: z.unknown(),
  env: z.string().nullable().describe('The environment variable that overrides the file'),
  reload: ReloadClass,
  description: z.string(),
  problem: z.string().nullable().describe('Why its value is not valid; the default may apply then'),
})
export type ConfigValue = z.infer<typeof ConfigValue>

export const ConfigChanged = z.object({
  key: z.string(),
  value: z.unknown().describe('Value in the file; null if the file leaves the key to its default'),
  reload: ReloadClass.nullable().describe('When the change takes effect; null if the file already held the value'),
  overridden_by: z
    .string()
    .nullable()
    .describe('Environment variable that overrides the file, so that the change has no effect yet'),
  note: Note.nullable(),
})
export type ConfigChanged = z.infer<typeof ConfigChanged>

export { type ConfigCheck, ConfigChecks, type ConfigValues, type Forbids } from '#lib/config-check'

/** A fault of the configuration; `path` is the key with its file and line, or the environment variable. */
export interface ConfigFault extends Issue {
  forbids: Forbids
}

/**
 * Returns which plugins are off if these are disabled, by name. The value is `null` for a disabled plugin, else the
 * disabled plugin that it needs.
 */
export const PluginsOff: Token<(disabled: readonly string[]) => ReadonlyMap<string, string | null>> =
  token('plugins off')

/** Views: as in the file; with environment and defaults; as applied in this process. */
export type ConfigView = 'persisted' | 'effective' | 'live'

export const UnknownConfigKeyError = defineError({
  code: 'unknown_config_key',
  status: 404,
  exit: 2,
  title: 'Unknown configuration key',
  message: (p: { key: string; hint: string }) =>
    `"${p.key}" is not a key of the configuration; ${p.hint || 'svc config lists them'}`,
})

declare module '#kernel' {
  /** The configuration of a project: `.svc/config.yaml`, overridden by the environment. */
  interface Configuration {
    readonly file: string
    /** Returns what is wrong with the configuration. @param levels of checks; all by default */
    faults(levels?: readonly Forbids[]): Promise<ConfigFault[]>
    /** Returns one of the three views as a tree, or one section of it, with secrets masked. */
    tree(view: ConfigView, section?: string): Values
    /** Returns the keys of the file that no section has, with their lines. */
    unknownKeys(): Issue[]
    /** Logs the unknown keys of the file, once for each edit. */
    warnOfUnknownKeys(log: Log): void
    /** Returns the keys whose value on disk takes effect only after a restart of this process. */
    keysAwaitingRestart(): string[]
    /** Returns all values that secret keys have had in this process; they must never be shown. */
    secrets(): string[]
    /** Deep-merges a patch into the file. @returns for each changed key whether the next heartbeat applies it */
    patch(patch: Values): Promise<Record<string, Reloads>>
    /** Sets one key in the file. @throws UnknownConfigKeyError, and what `patch` throws */
    set(key: string, value: unknown): Promise<Record<string, Reloads>>
    /**
     * Removes a key from the file, so that its default applies again. @throws UnknownConfigKeyError, and what `patch`
     * throws
     */
    unset(key: string): Promise<Record<string, Reloads>>
    /** Returns the path of a key as users write it. @throws UnknownConfigKeyError */
    pathOf(key: string): string[]
    /** Parses a string as a value of this key. @throws UnknownConfigKeyError */
    parseText(key: string, text: string): unknown
  }
}
