import {
  type Busy,
  type CommitResult,
  type Due,
  defineError,
  type Effect,
  type Lease,
  type Token,
  token,
  z,
} from '#kernel'

export const CycleTimeoutError = defineError({
  code: 'cycle_timeout',
  status: 504,
  title: 'Cycle timeout',
  sentence: (p: { agent_id: string; seconds: number }) =>
    `The cycle of ${p.agent_id} took longer than daemon.cycle_timeout (${p.seconds} s).`,
})
export const StoppingError = defineError({
  code: 'stopping',
  status: 503,
  title: 'Stopping',
  sentence: () => 'The daemon is stopping.',
})

/** Returns the ids of agents that are due. */
export function idsOf(due: readonly Due[]): string[] {
  return due.map(({ id }) => id)
}

/** For a tap or guard that never has work for agents without a goal. */
export const neverHasWork: Busy = () => []

/**
 * What a commit does with the lease: keep it while the cycle goes on, or give it back until `run_at`. With `more` the loop
 * claims right afterwards, so the commit may take what is due along for the next `claim`.
 */
export type Next = 'keep' | { run_at: number; more?: boolean }

/** The heartbeat's port to storage: what is due, and what a cycle wrote. */
export interface Scheduler {
  /** Takes what is due, oldest first: at most `limit` agents, and the singletons beside them. */
  claim(limit: number): Promise<Lease[]>
  /** Gives back what commits took for a loop that claims no more. */
  unclaim?(): Promise<void>
  /** Intervals of renewing leases and of polling for what is due, in milliseconds; by default the heartbeat's own. */
  readonly renew_ms?: number
  readonly poll_ms?: number
  /** Returns agents that are due by then and that no process drives, longest due first, without taking them. */
  due?(until: number, limit: number): Promise<Due[]>
  /** Begins and ends a cycle of each that is still as `due` read it, in one transaction. @returns their ids */
  pass?(due: readonly Due[], run_at: number): Promise<string[]>
  /** Renews all leases of this process. @returns those that are lost */
  renew(held: readonly Lease[]): Promise<Lease[]>
  /** Writes effects and the lease's next state in one transaction, fenced by the lease's epoch. */
  commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult>
  /** Makes agents due now (all without a list), though never sooner than their rest allows. */
  wake(agents: readonly string[] | undefined, reason: string): Promise<void>
  /** Returns when the next lease comes due, in milliseconds of the wall clock; null when none does. */
  nextDue(): Promise<number | null>
  /** Calls back when something may have become due, from this process. */
  onWake(listener: () => void): () => void
}

/** The store's part of scheduling. */
export const SchedulerToken: Token<Scheduler> = token('scheduler')

/** Keys of the section `daemon` that the heartbeat reads. Durations are seconds and take fractions. */
export const HeartbeatConfig = z.object({
  heartbeat: z
    .number()
    .min(0.05)
    .max(86_400)
    .default(10)
    .meta({ reload: 'applied', env: 'SVC_HEARTBEAT' })
    .describe("Seconds between an agent's cycles"),
  cycle_timeout: z
    .number()
    .min(0)
    .default(300)
    .meta({ reload: 'applied' })
    .describe('Wall clock of one cycle in seconds; 0 sets none'),
  max_concurrent_agents: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(8)
    .meta({ reload: 'applied' })
    .describe('Cycles that run at the same time'),
  min_rest: z
    .number()
    .min(0)
    .default(1)
    .meta({ reload: 'applied' })
    .describe('Seconds that a woken agent rests after its last cycle'),
  stop_grace: z
    .number()
    .min(0)
    .default(1)
    .describe('Seconds in which cycles may reach a safe point when the daemon stops'),
  guards_fail_closed: z.boolean().default(true).describe('Whether an error of a built-in guard blocks the phase'),
})
export type HeartbeatConfig = z.infer<typeof HeartbeatConfig>

const agent_id = z.string()
const cycle_num = z.number().int()

/** The specification's events of agents and their cycles. Modules declare more with `svc.event`. */
export const LIFECYCLE = {
  cycle_start: z.object({ agent_id, cycle_num }).describe('A cycle of an agent begins'),
  cycle_end: z
    .object({ agent_id, cycle_num, result: z.string() })
    .describe('A cycle of an agent has ended; `result` is how'),
  phase_enter: z.object({ agent_id, cycle_num, phase: z.string() }).describe('A phase of a cycle begins'),
  phase_exit: z
    .object({ agent_id, cycle_num, phase: z.string(), duration_ms: z.number(), outcome: z.string() })
    .describe('A phase of a cycle has ended; `outcome` is how'),
  goal_generated: z
    .object({ agent_id, goal_id: z.string(), objective: z.string() })
    .describe('An idle agent has found a goal'),
  goal_completed: z.object({ agent_id, goal_id: z.string() }).describe('A goal was reached'),
  goal_abandoned: z.object({ agent_id, goal_id: z.string() }).describe('A goal was given up'),
  goal_max_steps: z
    .object({ agent_id, goal_id: z.string(), steps_done: z.number().int() })
    .describe('A cycle used up the steps of the profile; the goal stays active'),
  suffering_changed: z
    .object({ agent_id, suffering_state: z.record(z.string(), z.unknown()) })
    .describe('How an agent suffers has changed'),
  guard_failed: z
    .object({ agent_id, cycle_num, phase: z.string(), guard: z.string(), error: z.string() })
    .describe('A guard threw, answered no boolean or took too long'),
  beat: z.object({ beat: z.number().int() }).describe('A heartbeat of the daemon has passed'),
} as const

type LifecycleEvents = { [K in keyof typeof LIFECYCLE]: z.infer<(typeof LIFECYCLE)[K]> }

declare module '#kernel' {
  interface Events extends LifecycleEvents {}
}
