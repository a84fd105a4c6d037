/** One event of the house, as `/events` tells it. */
export interface Happening {
  seq: number
  type: string
  at: string
  agent_id: string | null
  cycle_num: number | null
  run_id: string | null
  data: Record<string, unknown>
}

/** So many of the latest events are kept, for pages that show what happened just now. */
export const KEPT = 1_000

export type FeedState = 'connecting' | 'live' | 'lost' | 'refused'

/** What has changed without an event of the log; `status_changed` for the daemon's health and the agents' statuses. */
export interface Notice {
  type: 'status_changed' | 'config_changed' | 'plugin_reloaded'
  data: Record<string, unknown>
}

/** `anew`: the database is another than before, and all that was told is of the one that is gone. */
export type ToTab =
  | { type: 'state'; state: FeedState }
  | { type: 'events'; events: Happening[] }
  | { type: 'notice'; notice: Notice }
  | { type: 'anew' }
export type FromTab = { type: 'hello'; headers: Record<string, string> } | { type: 'bye' }
