import { errorMessage, type Hooks, type Log, type Points, type Ports, SvcError } from '#kernel'
import { recordInput, withoutRecording } from '#lib/recording-context'
import {
  type Cycle,
  type CycleResult,
  type Gate,
  Guards,
  PHASES,
  type Phase,
  type RegisteredGuard,
} from './contract.ts'

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
  const emitted = hooks.emit('cycle_start', { agent_id, cycle_num })
  if (emitted) await emitted
  for (const phase of PHASES) {
    if (phase === 'goal_pursuit' && !cycle.pursuing) continue
    if (phase === 'goal_generation' && cycle.pursuing) continue
    if (cycle.done && phase !== 'cleanup') continue
    try {
      await runPhase(phase, cycle, parts)
    } catch (thrown) {
      // Whatever an aborted cycle throws, the signal's reason says why it ended.
      const error: unknown = cycle.signal.aborted ? cycle.signal.reason : thrown
      cycle.error = error
      cycle.result = resultOf(error)
      cycle.done = true
      if (cycle.result === 'fenced') return
      log.warn({ agent_id, cycle_num, code: codeOf(error) }, `${phase}: ${errorMessage(error)}`)
    }
  }
  if (cycle.vetoed && cycle.error === undefined) cycle.result = 'guarded'
}

async function runPhase(phase: Phase, cycle: Cycle, { hooks, points, ports }: CycleParts): Promise<void> {
  const { agent_id, cycle_num } = cycle
  const answer = recordInput('guards', () => {
    const gate: Gate = { phase, agent_id, cycle_num, at: ports.clock.now() }
    return points.ask<RegisteredGuard, Gate, string>(Guards, gate)
  })
  const guard = answer instanceof Promise ? await answer : answer
  if (guard !== undefined) {
    cycle.vetoedBy ??= guard
    // A cycle cannot go on without its context.
    if (phase === 'context_assembly') cycle.done = true
    if (phase === 'cleanup') await hooks.get<Cycle, void>('cleanup_vetoed').call(cycle)
    return
  }
  // A cycle that is out of time or stopped enters no further phase but cleanup.
  if (phase !== 'cleanup') cycle.signal.throwIfAborted()
  // Only reported: nothing in the cycle depends on how long it took.
  const began = withoutRecording(() => ports.clock.monotonic())
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
    const duration_ms = withoutRecording(() => ports.clock.monotonic()) - began
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
