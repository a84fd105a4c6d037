/** An event of the project, in the form of `/events`. */
export interface FeedEvent {
  seq: number
  type: string
  at: string
  agent_id: string | null
  agent_name?: string | null | undefined
  cycle_num: number | null
  run_id: string | null
  data: Record<string, unknown>
}

/** Interval at which a tab sends a sign of life to the worker, in milliseconds. */
export const HELLO_MS = 60_000

/** Number of latest events kept, for pages that show recent ones. */
export const KEPT = 1_000

export type FeedState = 'connecting' | 'live' | 'lost' | 'refused'

/** Change without an event in the log; `status_changed` stands for the daemon's health and the agents' statuses. */
export interface Notice {
  type: 'status_changed' | 'config_changed' | 'plugin_reloaded'
  data: Record<string, unknown>
}

/** Message to a tab. `anew`: the database was replaced, and earlier events belong to the old one. */
export type ToTab =
  | { type: 'state'; state: FeedState }
  | { type: 'events'; events: FeedEvent[] }
  | { type: 'notice'; notice: Notice }
  | { type: 'anew' }
export type FromTab = { type: 'hello'; headers: Record<string, string> } | { type: 'bye' }
