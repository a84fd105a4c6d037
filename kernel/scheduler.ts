/** A write as data: a name and a payload. The room that owns the name turns it into statements. */
export interface Effect {
  readonly effect: string
  readonly payload: unknown
}

/** The right to drive one agent until `expires_at` passes without renewal. */
export interface Lease {
  /** The agent's id, or the name of a singleton such as `sys:beat`. */
  readonly id: string
  readonly kind: 'agent' | 'sys'
  readonly owner: string
  readonly epoch: number
  readonly cycle_num: number
}

/** An agent that is due and that nobody drives, as it was seen. */
export interface Due extends Pick<Lease, 'id' | 'epoch' | 'cycle_num'> {
  readonly run_at: number
  /** How often it was woken until then. */
  readonly wakes: number
}

/**
 * Which of these agents somebody has something to do for, by id. Asked before they are driven: where everybody who has a part in
 * a cycle can tell, those who are left have nothing to do, and their cycles are passed in one go.
 */
export type Busy = (due: readonly Due[]) => readonly string[] | Promise<readonly string[]>

/** Whose leases they are. */
export function idsOf(due: readonly Due[]): string[] {
  return due.map(({ id }) => id)
}

/** Of a part of a cycle that comes to nothing by itself, for agents that have nothing to do. */
export const nobody: Busy = () => []

/**
 * What becomes of the lease with a commit: kept while the cycle goes on, or given back until `run_at`. With `more` the loop is
 * going to claim as soon as it is, so that what is due may be taken with it, for the next `claim`.
 */
export type Next = 'keep' | { run_at: number; more?: boolean }
export type CommitResult = 'ok' | 'fenced' | 'refused'

/** The one port through which the kernel sees storage: what is due, and what a cycle wrote. */
export interface Scheduler {
  /** Takes what is due, oldest first: at most `limit` agents, and the singletons beside them. */
  claim(limit: number): Promise<Lease[]>
  /** Gives back what commits took for a loop that claims no more. */
  unclaim?(): Promise<void>
  /** How often it wants to be asked to renew, and at least for what is due, in milliseconds; the heartbeat's own rates unless told. */
  readonly renew_ms?: number
  readonly poll_ms?: number
  /** Agents that are due by then and that nobody drives, longest due first, without taking them. */
  due?(until: number, limit: number): Promise<Due[]>
  /** Begins and ends a cycle of each that is as `due` told of it, in one transaction. @returns the ids of those */
  pass?(due: readonly Due[], run_at: number): Promise<string[]>
  /** Prolongs all leases of this process; returns those that are lost. */
  renew(held: readonly Lease[]): Promise<Lease[]>
  /** Writes effects and the lease's next state in one transaction, fenced by the lease's epoch. */
  commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult>
  /** Makes agents due now (all without a list), though never sooner than their rest allows. */
  wake(agents: readonly string[] | undefined, reason: string): Promise<void>
  /** When the next lease comes due, in milliseconds of the wall clock; null when none ever does. */
  nextDue(): Promise<number | null>
  /** Tells that something may have become due, from this process. */
  onWake(listener: () => void): () => void
}
