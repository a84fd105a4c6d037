import { type Issue, point } from '#kernel'

/**
 * What a fault keeps from happening. `start`: no process starts with it, and no change may cause it. `change`: no change may
 * cause it; the service runs with it. `nothing`: it is only reported.
 */
export type Forbids = 'start' | 'change' | 'nothing'

/** The configuration as a check sees it: as it is, or as a change would make it. */
export interface ConfigValues {
  /** Returns the effective value of a key; undefined for a key that no plugin has. */
  get(key: string): unknown
  /** Names a key with the place of its value: `approval.enabled (.svc/config.yaml:4)`. */
  withPlace(key: string): string
}

/** A rule that the schema of one key cannot express, such as one over several keys, or about what plugins register. */
export interface ConfigCheck {
  name: string
  forbids: Forbids
  /** Returns what is wrong, each with the key to blame. */
  check(values: ConfigValues): readonly Issue[] | Promise<readonly Issue[]>
}
export const ConfigChecks = point<ConfigCheck>('config_checks', {
  key: check => check.name,
  has: { name: 'text', forbids: 'text', check: 'function' },
})
