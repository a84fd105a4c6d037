export interface PluginState {
  name: string
  description: string
  version: string
  /** `builtin`, `code`, or the file that it was loaded from. */
  origin: string
  /**
   * `live` with an error: an older version stays active, because the newest could not replace it. `unloaded`: plugin files
   * may not run in this process, and the error says why. `replaced`: another plugin replaces it.
   */
  state: 'live' | 'suspended' | 'failed' | 'disabled' | 'unloaded' | 'replaced'
  /** Labels of its registrations. */
  registered: string[]
  error: string | null
  /** Number of calls and failures of its code since it went live. */
  calls: number
  failures: number
  /** The latest failure of its code: file, line and message. */
  last_failure: string | null
  load_ms: number
  /** Number of replacements, and the duration of the last one in milliseconds; null before the first. */
  swaps: number
  swap_ms: number | null
  /** Time of the last replacement, as ISO 8601. */
  swapped_at: string | null
}

export interface Outcome {
  plugin: string
  origin: string
  outcome: 'loaded' | 'reloaded' | 'removed' | 'failed' | 'rolled_back'
  error: string | null
}

export function inactiveState(
  name: string,
  origin: string,
  state: 'failed' | 'disabled' | 'unloaded' | 'replaced',
  error: string | null,
): PluginState {
  const counts = { calls: 0, failures: 0, last_failure: null, load_ms: 0, swaps: 0, swap_ms: null, swapped_at: null }
  return { name, origin, state, error, description: '', version: '', registered: [], ...counts }
}
