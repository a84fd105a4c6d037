import type { Lease } from './lease.ts'

/** The loop that claims what is due and runs a cycle for each agent. */
export interface HeartbeatControl {
  /** Whether the loop runs in this process. */
  readonly live: boolean
  /** Ids of the agents whose cycles run in this process now. */
  readonly inFlight: readonly string[]
  /** When the loop last came round, in milliseconds of the wall clock. */
  readonly lastTick: number
  /** Why its last round failed, as on a full disk; undefined when it did not. */
  readonly fault: string | undefined
  /** @throws ServiceMissingError without a scheduler */
  start(): void
  /** Lets cycles reach their end within the grace, then aborts them. Resolves when none is left, or none that would listen. */
  stop(): Promise<void>
  /** Looks at once for what is due. */
  hint(): void
  /**
   * Runs what is due now without the loop: the daemon's own heartbeat, or where that is not due one agent.
   * @param signal ends a cycle at its next safe point
   * @returns what was run; undefined for nothing
   */
  step(signal?: AbortSignal): Promise<Lease['kind'] | undefined>
  /** Runs a cycle whose lease is held already, to its end. */
  drive(lease: Lease): Promise<void>
}
