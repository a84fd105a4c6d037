/** A write as data: a name and a payload. The module that owns the name turns it into statements. */
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

/** An agent that is due and that no process drives, as it was read. */
export interface Due extends Pick<Lease, 'id' | 'epoch' | 'cycle_num'> {
  readonly run_at: number
  /** Number of times it had been woken. */
  readonly wakes: number
}

/**
 * Returns the ids of the agents that it has work for. Where every tap and guard of a cycle can tell, the cycles of the other
 * agents are passed at once, without being run.
 */
export type Busy = (due: readonly Due[]) => readonly string[] | Promise<readonly string[]>

/** `refused`: a write that must change a row changed none. `fenced`: another process has taken over. Nothing was written then. */
export type CommitResult = 'ok' | 'fenced' | 'refused'
