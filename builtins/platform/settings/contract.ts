import { defineError, didYouMean, type Issue, type ReloadClass as Reloads, type Token, token, z } from '#kernel'
import type { Forbids } from '#lib/config-check'
import type { Tree as Values } from '#lib/tree'

/** Keys nested in their sections, as in the file; secrets are `***`. */
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

/** A configuration key, as an editor needs it. */
export const ConfigKey = z
  .object({
    key: z.string(),
    section: z.string().describe('The module that reads it'),
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
  .nullable()
  .describe('What else the change does: the modules that are off with those switched off')

export const ConfigPatched = z.object({
  config: Tree.describe('What .svc/config.yaml holds now'),
  reload: Reload,
  note: Note,
})

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
  note: Note,
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
  message: (p: { key: string; known: string[] }) =>
    `"${p.key}" is not a key of the configuration; ${didYouMean(p.key, p.known, 'svc config')}`,
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
