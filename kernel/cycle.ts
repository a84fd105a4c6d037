import { outside, taken } from './actor.ts'
import type { Gate, RegisteredGuard } from './contributions.ts'
import { Guards } from './contributions.ts'
import { defineError, SvcError, sentenceOf } from './errors.ts'
import type { Hooks } from './hooks.ts'
import type { Log } from './log.ts'
import type { Points } from './points.ts'
import type { Ports } from './ports.ts'
import type { Effect, Lease, Scheduler } from './scheduler.ts'
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
  /** The guard that vetoed one of its phases first, by name. */
  vetoedBy: string | undefined
  /** When the agent runs again, in milliseconds of the wall clock; a heartbeat after the start when unset. */
  run_at: number | undefined
  readonly #scheduler: Scheduler
  readonly #values = new Map<string, unknown>()

  constructor(lease: Lease, scheduler: Scheduler, signal: AbortSignal) {
    this.lease = lease
    this.signal = signal
    this.#scheduler = scheduler
  }

  get agent_id(): string {
    return this.lease.id
  }

  /** A guard vetoed one of its phases. */
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
    const result = await this.#scheduler.commit(this.lease, effects, 'keep')
    if (result === 'fenced') throw new FencedError({ agent_id: this.agent_id })
    return result
  }
}

export interface CycleParts {
  hooks: Hooks
  points: Points
  ports: Ports
  log: Log
}

/** Runs the phases of one cycle: guards, `phase_enter`, the phase's taps, `phase_exit`. Never throws; the result says what happened. */
export async function runPhases(cycle: Cycle, parts: CycleParts): Promise<void> {
  const { hooks, log } = parts
  const { agent_id, cycle_num } = cycle
  const told = hooks.emit('cycle_start', { agent_id, cycle_num })
  if (told) await told
  for (const phase of PHASES) {
    if (phase === 'goal_pursuit' && !cycle.pursuing) continue
    if (phase === 'goal_generation' && cycle.pursuing) continue
    if (cycle.done && phase !== 'cleanup') continue
    try {
      await runPhase(phase, cycle, parts)
    } catch (thrown) {
      // What an aborted cycle throws is only how it was told; why is the signal's reason.
      const error: unknown = cycle.signal.aborted ? cycle.signal.reason : thrown
      cycle.error = error
      cycle.result = resultOf(error)
      cycle.done = true
      if (cycle.result === 'fenced') return
      log.warn({ agent_id, cycle_num, code: codeOf(error) }, `${phase}: ${sentenceOf(error)}`)
    }
  }
  if (cycle.vetoed && cycle.error === undefined) cycle.result = 'guarded'
}

async function runPhase(phase: Phase, cycle: Cycle, { hooks, points, ports }: CycleParts): Promise<void> {
  const { agent_id, cycle_num } = cycle
  const asked = taken('guards', () => {
    const gate: Gate = { phase, agent_id, cycle_num, at: ports.clock.now() }
    return points.ask<RegisteredGuard, Gate, string>(Guards, gate)
  })
  const guard = asked instanceof Promise ? await asked : asked
  if (guard !== undefined) {
    cycle.vetoedBy ??= guard
    // Without its context a cycle has nothing to go by.
    if (phase === 'context_assembly') cycle.done = true
    return
  }
  // A cycle that is out of time or told to stop enters nothing more, but its housekeeping runs.
  if (phase !== 'cleanup') cycle.signal.throwIfAborted()
  // Only told to others: nothing of the cycle hangs on how long it took.
  const began = outside(() => ports.clock.monotonic())
  let outcome = 'ok'
  const entered = hooks.emit('phase_enter', { agent_id, cycle_num, phase })
  if (entered) await entered
  try {
    const worked = hooks.get<Cycle, void>(phase).call(cycle)
    if (worked) await worked
  } catch (error) {
    outcome = resultOf(error)
    throw error
  } finally {
    const duration_ms = outside(() => ports.clock.monotonic()) - began
    const left = hooks.emit('phase_exit', { agent_id, cycle_num, phase, duration_ms, outcome })
    if (left) await left
  }
}

function resultOf(error: unknown): CycleResult {
  const code = codeOf(error)
  if (code === 'fenced') return 'fenced'
  if (code === 'cycle_timeout') return 'timeout'
  // A stop is not the agent's failure: the cycle ends here and goes on after the next start.
  if (code === 'stopping') return 'idle'
  return 'error'
}

function codeOf(error: unknown): string {
  return error instanceof SvcError ? error.code : 'error'
}
