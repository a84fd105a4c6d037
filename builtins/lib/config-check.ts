import { type Issue, point } from '#kernel'

/**
 * What a configuration problem prevents. `start`: no process starts with it, and no change may cause it. `change`: no
 * change may cause it, but the service runs with it. `nothing`: it is only reported.
 */
export type Forbids = 'start' | 'change' | 'nothing'

/** The configuration in a check: the current one, or as a change would make it. */
export interface ConfigValues {
  /** Returns the effective value of a key; undefined for an unknown key. */
  get(key: string): unknown
  /** Returns a key with the location of its value: `approval.enabled (.svc/config.yaml:4)`. */
  withPlace(key: string): string
}

/**
 * A rule that the schema of one key cannot express, such as one over several keys, or one about what plugins register.
 */
export interface ConfigCheck {
  name: string
  forbids: Forbids
  /** Returns the problems, each with the key that causes it. */
  check(values: ConfigValues): readonly Issue[] | Promise<readonly Issue[]>
}
export const ConfigChecks = point<ConfigCheck>('config_checks', {
  key: check => check.name,
  has: { name: 'text', forbids: 'text', check: 'function' },
})
