import { defineError } from './errors.ts'
import type { CommitResult, Effect, Lease } from './lease.ts'
import type { Token } from './services.ts'

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

export const FencedError = defineError({
  code: 'fenced',
  status: 409,
  title: 'Fenced',
  sentence: (p: { agent_id: string }) => `Another process has taken over agent ${p.agent_id}; nothing was written.`,
})
/** One turn of one agent. Phases share values through `set` and `get`, and leave what they write in `effects`. */
export class Cycle {
  readonly lease: Lease
  readonly signal: AbortSignal
  /** Written when the cycle ends, in one transaction with the lease's release. */
  readonly effects: Effect[] = []
  result: CycleResult = 'idle'
  error: unknown
  /** Whether there is a goal to pursue; otherwise one is generated. Set during `context_assembly`. */
  pursuing = false
  /** Skips to `cleanup`. Set by a phase that decides that this cycle has nothing more to do. */
  done = false
  /** Name of the first guard that vetoed one of its phases. */
  vetoedBy: string | undefined
  /** When the agent runs again, in milliseconds of the wall clock; a heartbeat after the start when unset. */
  run_at: number | undefined
  readonly #commit: (effects: readonly Effect[]) => Promise<CommitResult>
  readonly #values = new Map<string, unknown>()

  /** @param commit writes at once and keeps the lease */
  constructor(lease: Lease, commit: (effects: readonly Effect[]) => Promise<CommitResult>, signal: AbortSignal) {
    this.lease = lease
    this.signal = signal
    this.#commit = commit
  }

  get agent_id(): string {
    return this.lease.id
  }

  /** Whether a guard vetoed one of its phases. */
  get vetoed(): boolean {
    return this.vetoedBy !== undefined
  }

  get cycle_num(): number {
    return this.lease.cycle_num
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
