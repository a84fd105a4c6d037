import type { z } from 'zod'
import { defineError, describeIssues, type Issue } from './errors.ts'
import type { Undo } from './scope.ts'

/** What a key's `.meta(…)` may say beside zod's own fields. */
export interface KeyMeta {
  /** `applied`: takes effect on the next heartbeat. Anything else needs a restart. */
  reload?: ReloadClass
  /** The environment variable that overrides the file. */
  env?: string
  /** Shown as `***` wherever configuration is shown. */
  secret?: boolean
  /** Its module protects while the value is another than the default: that module cannot be disabled then. */
  protects?: boolean
}
export type ReloadClass = 'applied' | 'restart_required'

/** Where a value comes from. */
export type ConfigSource = 'file' | 'env' | 'default'

export interface ConfigKeyInfo extends KeyMeta {
  path: string
  owner: string
  default: unknown
  schema: unknown
  reload: ReloadClass
  source: ConfigSource
}

/** Where plugins get their settings from. The module that reads the files adds the rest by merging into this interface. */
export interface Configuration {
  /**
   * Parses the values of `shape` below `section` ('' for the top level) without adding it yet.
   * @returns the values as a live object (each property is read anew), and `add`, which makes the keys known
   * @throws InvalidConfigError for a bad value
   */
  section<S extends z.ZodObject>(section: string, shape: S, owner: string): { view: z.output<S>; add: () => Undo }
  /** Returns the value in force of a key; undefined for a key that no plugin has. */
  get(path: string): unknown
  /** Returns all keys, sorted by path. */
  keys(): ConfigKeyInfo[]
  /** Returns what the source holds; it differs whenever that has changed. */
  readonly text: () => string
  /** Reads the source again without putting anything in force. @returns what is wrong with it */
  refresh(): Promise<string | undefined>
  /**
   * Reads the source again and puts the values of `applied` keys in force.
   * @returns the keys whose value in force changed
   * @throws once for each bad edit; the last good configuration stays in force
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
