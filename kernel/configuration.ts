import type { z } from 'zod'
import { defineError, describeIssues, type Issue } from './errors.ts'
import type { Undo } from './scope.ts'

/** Fields of a key's `.meta(…)` beside zod's own. */
export interface KeyMeta {
  /** `applied`: takes effect on the next heartbeat. Anything else needs a restart. */
  reload?: ReloadClass
  /** The environment variable that overrides the file. */
  env?: string
  /** Shown as `***` wherever configuration is shown. */
  secret?: boolean
  /** Whether it protects the user while its value is not the default; its module cannot be disabled then. */
  protects?: boolean
}
export type ReloadClass = 'applied' | 'restart_required'

/** Source of a value. */
export type ConfigSource = 'file' | 'env' | 'default'

export interface ConfigKeyInfo extends KeyMeta {
  path: string
  owner: string
  default: unknown
  schema: unknown
  reload: ReloadClass
  source: ConfigSource
}

/** The settings of plugins. The module that reads the files adds members by merging into this interface. */
export interface Configuration {
  /**
   * Parses the values of `shape` below `section` ('' for the top level) without adding it yet.
   * @returns the values as a live object (each property is read when it is accessed), and `add`, which registers the keys
   * @throws InvalidConfigError for a bad value
   */
  section<S extends z.ZodObject>(section: string, shape: S, owner: string): { view: z.output<S>; add: () => Undo }
  /** Returns the effective value of a key; undefined for a key that no plugin has. */
  get(path: string): unknown
  /** Returns all keys, sorted by path. */
  keys(): ConfigKeyInfo[]
  /** Returns the content of the source, to detect changes. */
  readonly text: () => string
  /** Reads the source again without applying it. @returns its error, if any */
  refresh(): Promise<string | undefined>
  /**
   * Reads the source again and applies the values of `applied` keys.
   * @returns the keys whose effective value changed
   * @throws once for each invalid edit; the last valid configuration stays in effect
   */
  reload(): Promise<string[]>
}

export const InvalidConfigError = defineError({
  code: 'invalid_config',
  status: 400,
  exit: 2,
  title: 'Invalid configuration',
  message: (p: { issues: readonly Issue[] }) => `The configuration is not valid: ${describeIssues(p.issues)}.`,
})
