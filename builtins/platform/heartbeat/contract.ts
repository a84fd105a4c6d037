import {
  defineError,
  type Effect,
  type EventName,
  type Events,
  point,
  type TapOptions,
  type Tapped,
  type Token,
  token,
  type Undo,
  z,
} from '#kernel'

/** The right to drive one agent until it expires without renewal. */
export interface Lease {
  /** The agent's id, or the name of a singleton such as `sys:beat`. */
  readonly id: string
  readonly kind: 'agent' | 'sys'
  readonly owner: string
  readonly epoch: number
  readonly cycle_num: number
}

/** An agent that was due, and driven by no process, when it was read. */
export interface Due extends Pick<Lease, 'id' | 'epoch' | 'cycle_num'> {
  readonly run_at: number
  /** Number of times it had been woken. */
  readonly wakes: number
}

/**
 * Returns the ids of the agents that a tap or guard has work for. If all taps and guards of a cycle have it, the cycles of
 * the other agents are advanced at once, without being run.
 */
export type HasWork = (due: readonly Due[]) => readonly string[] | Promise<readonly string[]>
/** @deprecated Use `HasWork`. */
export type Busy = HasWork

/** `refused`: a write that must change a row changed none. `fenced`: another process has taken over. Nothing was written then. */
export type CommitResult = 'ok' | 'fenced' | 'refused'

/** Returns the ids of agents that are due. */
export function idsOf(due: readonly Due[]): string[] {
  return due.map(({ id }) => id)
}

/** For a tap or guard that never has work for agents without a goal. */
export const neverHasWork: HasWork = () => []

/** The loop that claims due agents and runs their cycles. */
export interface HeartbeatControl {
  /** Whether the loop runs in this process. */
  readonly live: boolean
  /** Ids of the agents whose cycles run in this process now. */
  readonly inFlight: readonly string[]
  /** Time of the last tick, in milliseconds of the wall clock. */
  readonly lastTick: number
  /** Error of the last round, such as a full disk; undefined if the round succeeded. */
  readonly fault: string | undefined
  /** @throws ServiceMissingError without a scheduler */
  start(): void
  /**
   * Lets cycles end within the grace period, then aborts them. Resolves when none is left, or when the rest does not
   * react.
   */
  stop(): Promise<void>
  /** Checks at once for due agents. */
  hint(): void
  /**
   * Stops the time limit of the cycle with this signal, if any, while the cycle waits for other agents.
   * @returns a function that resumes it
   */
  pauseTimeout(signal: AbortSignal): () => void
  /**
   * Runs what is due now without the loop: the daemon's own heartbeat or, if that is not due, one agent.
   * @param signal ends a cycle at its next safe point
   * @returns the kind of what was run; undefined if nothing was due
   */
  step(signal?: AbortSignal): Promise<Lease['kind'] | undefined>
  /** Runs a cycle to its end; its lease is already held. */
  drive(lease: Lease): Promise<void>
}

/** The specification's phases, in order. A cycle enters `goal_pursuit` or `goal_generation`, never both. */
export const PHASES = [
  'approval_gate',
  'suffering_escalation',
  'context_assembly',
  'goal_pursuit',
  'goal_generation',
  'cleanup',
] as const
export type Phase = (typeof PHASES)[number]

export const CYCLE_RESULTS = [
  'completed',
  'abandoned',
  'max_steps',
  'generated',
  'idle',
  'parked',
  'guarded',
  'timeout',
  'error',
  'fenced',
] as const
export type CycleResult = (typeof CYCLE_RESULTS)[number]

/** One cycle of one agent. Phases share values through `set` and `get`, and add their writes to `effects`. */
export class Cycle {
  readonly lease: Lease
  readonly agent_id: string
  readonly cycle_num: number
  readonly signal: AbortSignal
  /** Writes that are applied when the cycle ends, in one transaction with the lease's release. */
  readonly effects: Effect[] = []
  result: CycleResult = 'idle'
  error: unknown
  /** Whether there is a goal to pursue; otherwise one is generated. Set during `context_assembly`. */
  pursuing = false
  /** Skips to `cleanup`. Set by a phase that decides that this cycle has nothing more to do. */
  done = false
  /** Name of the first guard that vetoed one of its phases. */
  vetoedBy: string | undefined
  /** Time of the agent's next cycle, in milliseconds of the wall clock. Default: a heartbeat after the start. */
  run_at: number | undefined
  readonly #commit: (effects: readonly Effect[]) => Promise<CommitResult>
  readonly #values = new Map<string, unknown>()

  /** @param commit writes at once and keeps the lease */
  constructor(lease: Lease, commit: (effects: readonly Effect[]) => Promise<CommitResult>, signal: AbortSignal) {
    this.lease = lease
    this.agent_id = lease.id
    this.cycle_num = lease.cycle_num
    this.signal = signal
    this.#commit = commit
  }

  /** Whether a guard vetoed one of its phases. */
  get vetoed(): boolean {
    return this.vetoedBy !== undefined
  }

  set<T>(token: Token<T>, value: T): void {
    this.#values.set(token.name, value)
  }

  get<T>(token: Token<T>): T | undefined {
    return this.#values.get(token.name) as T | undefined
  }

  /**
   * Writes in the middle of a cycle, at once and durably; the lease is kept.
   * @returns `refused` when an effect that must change a row changed none: nothing was written then
   * @throws FencedError when another process has taken over
   */
  async save(effects: readonly Effect[]): Promise<'ok' | 'refused'> {
    const result = await this.#commit(effects)
    if (result === 'fenced') throw new FencedError({ agent_id: this.agent_id })
    return result
  }
}

export const CycleTimeoutError = defineError({
  code: 'cycle_timeout',
  status: 504,
  title: 'Cycle timeout',
  message: (p: { agent_id: string; seconds: number }) =>
    `The cycle of ${p.agent_id} took longer than daemon.cycle_timeout (${p.seconds} s).`,
})
export const StoppingError = defineError({
  code: 'stopping',
  status: 503,
  title: 'Daemon is stopping',
  message: () => 'The daemon is stopping.',
})

export const FencedError = defineError({
  code: 'fenced',
  status: 409,
  title: 'Agent taken over by another process',
  message: (p: { agent_id: string }) => `Another process has taken over agent ${p.agent_id}; nothing was written.`,
})

/** A phase of a cycle that guards allow or veto. */
export interface Gate {
  phase: string
  agent_id: string
  cycle_num: number
  at: Date
}

export interface Guard {
  name?: string
  /** Returns false to veto the phase. */
  shouldProceed(gate: Gate): boolean | Promise<boolean>
}

export interface GuardOptions {
  name?: string
  failClosed?: boolean
  /** The agents without a goal that the guard may stop. Default: all. */
  hasWork?: HasWork
  /** @deprecated Use `hasWork`. */
  busy?: HasWork
}

export interface RegisteredGuard {
  name: string
  /** A phase's name, or `*` for all. */
  phase: string
  guard: Guard
  /** Returns whether an error of the guard vetoes the phase. */
  failClosed: () => boolean
  /** Called with an error, before the rule above applies. */
  failed: (gate: Gate, error: unknown) => void
  /** The agents without a goal that the guard may stop. Default: all. */
  hasWork?: HasWork
}

export const Guards = point<RegisteredGuard>('guards', {
  key: registered => `${registered.phase}/${registered.name}`,
  has: { name: 'text', phase: 'text', failClosed: 'function', failed: 'function' },
  // Called before each phase of each cycle, so a synchronous answer is not awaited.
  ask(registered, gate: Gate) {
    if (registered.phase !== '*' && registered.phase !== gate.phase) return undefined
    const { name, guard } = registered
    const nameOfVetoer = (verdict: boolean) => (verdict ? undefined : name)
    try {
      const verdict = verdictOf(name, guard.shouldProceed(gate))
      if (typeof verdict === 'boolean') return nameOfVetoer(verdict)
      return verdict.then(nameOfVetoer).catch(error => guardError(registered, gate, error))
    } catch (error) {
      return guardError(registered, gate, error)
    }
  },
})

function guardError({ name, failClosed, failed }: RegisteredGuard, gate: Gate, error: unknown): string | undefined {
  failed(gate, error)
  return failClosed() ? name : undefined
}

/**
 * Returns a guard's answer, synchronously if possible.
 * @throws TypeError if the answer is not a boolean
 */
export function verdictOf(name: string, answer: unknown): boolean | Promise<boolean> {
  if (typeof answer === 'boolean') return answer
  if (typeof Object(answer).then === 'function') return Promise.resolve(answer).then(given => verdictOf(name, given))
  throw new TypeError(`the guard "${name}" returned ${typeof answer}, not a boolean`)
}

/** A reason to wake all agents, or the agents named. */
export type Wake = string | { reason: string; agents: readonly string[] }

export interface WakeSource {
  name: string
  /**
   * Resolves when there is a reason to wake, and is then called again. Ends when the signal is aborted. All calls get
   * the same signal, so each removes the listeners that it added to it.
   */
  wait(signal: AbortSignal): Promise<Wake>
}
export const WakeSources = point<WakeSource>('wake_sources', {
  key: source => source.name,
  has: { name: 'text', wait: 'function' },
})

/**
 * What a commit does with the lease: keeps it while the cycle goes on, or releases it until `run_at`. With `more`, the
 * loop claims right afterwards, so the commit may claim due agents for the next `claim`.
 */
export type Next = 'keep' | { run_at: number; more?: boolean }

/** The heartbeat's interface to storage: due agents, and the writes of cycles. */
export interface Scheduler {
  /** Claims due leases, oldest first: at most `limit` agents, and all due singletons. */
  claim(limit: number): Promise<Lease[]>
  /** Releases leases that commits claimed, when the loop claims no more. */
  releaseClaimed?(): Promise<void>
  /** Intervals of renewing leases and of polling for what is due, in milliseconds; by default the heartbeat's own. */
  readonly renew_ms?: number
  readonly poll_ms?: number
  /** Returns agents that are due by then and that no process drives, longest due first, without taking them. */
  listDue?(until: number, limit: number): Promise<Due[]>
  /**
   * Begins and ends a cycle of each agent that is still as `listDue` returned it, in one transaction.
   * @returns their ids
   */
  pass?(due: readonly Due[], run_at: number): Promise<string[]>
  /**
   * Renews all leases of this process.
   * @returns the lost leases
   */
  renew(held: readonly Lease[]): Promise<Lease[]>
  /** Writes effects and the lease's next state in one transaction, fenced by the lease's epoch. */
  commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult>
  /** Makes agents due now (all without a list), though never sooner than their rest allows. */
  wake(agents: readonly string[] | undefined, reason: string): Promise<void>
  /** Returns when the next lease comes due, in milliseconds of the wall clock; null when none does. */
  nextDue(): Promise<number | null>
  /** Adds a listener that is called when something may have become due, from this process. */
  onWake(listener: () => void): () => void
}

/** Token of the storage engine's scheduler. */
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
    .describe('Time limit of one cycle, in seconds; 0 sets none'),
  max_concurrent_agents: z
    .int()
    .min(1)
    .max(10_000)
    .default(8)
    .meta({ reload: 'applied' })
    .describe('Maximum number of cycles that run at the same time'),
  min_rest: z
    .number()
    .min(0)
    .default(1)
    .meta({ reload: 'applied' })
    .describe('Minimum rest of an agent after a cycle, in seconds, even when it is woken'),
  stop_grace: z
    .number()
    .min(0)
    .default(1)
    .describe('Seconds that running cycles have to reach a safe point when the daemon stops'),
  guards_fail_closed: z.boolean().default(true).describe('Whether an error of a built-in guard blocks the phase'),
})
export type HeartbeatConfig = z.infer<typeof HeartbeatConfig>

const agent_id = z.string()
const cycle_num = z.int()

/** The specification's events of agents and their cycles. Modules declare more with `svc.event`. */
export const LIFECYCLE = {
  cycle_start: z.object({ agent_id, cycle_num }).describe('A cycle of an agent begins'),
  cycle_end: z
    .object({ agent_id, cycle_num, result: z.string() })
    .describe('A cycle of an agent has ended; `result` is its outcome'),
  phase_enter: z.object({ agent_id, cycle_num, phase: z.string() }).describe('A phase of a cycle begins'),
  phase_exit: z
    .object({ agent_id, cycle_num, phase: z.string(), duration_ms: z.number(), outcome: z.string() })
    .describe('A phase of a cycle has ended; `outcome` is its result'),
  goal_generated: z
    .object({ agent_id, goal_id: z.string(), objective: z.string() })
    .describe('An idle agent has generated a goal'),
  goal_completed: z.object({ agent_id, goal_id: z.string() }).describe('A goal was completed'),
  goal_abandoned: z.object({ agent_id, goal_id: z.string() }).describe('A goal was abandoned'),
  goal_max_steps: z
    .object({ agent_id, goal_id: z.string(), steps_done: z.int() })
    .describe('A cycle used up the maximum number of steps of the profile; the goal stays active'),
  suffering_changed: z
    .object({ agent_id, suffering_state: z.record(z.string(), z.unknown()) })
    .describe("An agent's suffering state has changed"),
  guard_failed: z
    .object({ agent_id, cycle_num, phase: z.string(), guard: z.string(), error: z.string() })
    .describe('A guard threw an error, returned no boolean or took too long'),
  beat: z.object({ beat: z.int() }).describe('A heartbeat of the daemon has passed'),
} as const

type LifecycleEvents = { [K in keyof typeof LIFECYCLE]: z.infer<(typeof LIFECYCLE)[K]> }

/** A hook by its name. A tap added here is removed with its plugin. */
type NamedHook<In> = { readonly taps: readonly TapOptions[] } & {
  [K in 'tap' | 'tapPromise']: (options: string | TapOptions, fn: (input: In) => unknown) => Undo
}

export type HookSet = { readonly [H in keyof Tapped]: NamedHook<Tapped[H]> } & {
  readonly [name: string]: NamedHook<never>
} & {
  /** @deprecated Use `svc.on`. */
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void
  /** @deprecated Use `svc.off`. */
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void
  /** @deprecated Use `svc.guard`. */
  registerGuard(phase: Phase | '*', guard: Guard, options?: GuardOptions): void
}

declare module '#kernel' {
  interface Events extends LifecycleEvents {}
  interface Tapped extends Record<Phase, Cycle> {
    /** Called in place of `cleanup` when a guard vetoes it, for what must be recorded of every cycle. */
    cleanup_vetoed: Cycle
  }
  interface TapOptions {
    /** For a tap of a phase: the agents without a goal that the tap has work for. Default: all. */
    hasWork?: HasWork
    /** @deprecated Use `hasWork`. */
    busy?: HasWork
  }
  interface Kernel {
    readonly heartbeat: HeartbeatControl
  }
  interface PluginHandle {
    readonly heartbeat: HeartbeatControl
    /** Hooks by name, for `tap` with `stage` and `before`. A tap added here belongs to the plugin's scope too. */
    readonly hooks: HookSet
    /**
     * Registers a guard for a phase, or for all with `*`. If it throws, gives no boolean or takes too long, a plugin's
     * guard lets the phase pass unless `failClosed` is set; a builtin's guard follows `daemon.guards_fail_closed`.
     * @throws UnknownHookError if there is no such phase
     */
    guard(phase: Phase | '*', guard: Guard, options?: GuardOptions): Undo
    /** Adds a source that wakes the daemon between two heartbeats. */
    wakeSource(source: WakeSource): Undo
  }
}
