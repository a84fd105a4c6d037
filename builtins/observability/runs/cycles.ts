import { errorMessage, type PluginHandle, token } from '#kernel'
import { type Cycle, StoppingError } from '#platform/heartbeat/contract'
import { appendEvent } from '#platform/store/contract'

const BeganAt = token<number>('cycle_began_at')
/** Results of cycles that are recorded only if the cycle wrote something. */
const QUIET: readonly string[] = ['idle', 'parked', 'guarded']
const LONGEST_ERROR = 1_000

/** Stores the time at which a cycle began. */
export function cycleBegins(svc: PluginHandle, cycle: Cycle): void {
  cycle.set(BeganAt, svc.clock.monotonic())
}

/** Adds the event `cycle_done` to the transaction that ends the cycle, so that it needs no transaction of its own. */
export function cycleEnds(svc: PluginHandle, mask: (json: string) => string, cycle: Cycle): void {
  const result = cycle.vetoed && cycle.error === undefined ? 'guarded' : cycle.result
  if (QUIET.includes(result) && cycle.effects.length === 0) return
  const { agent_id, cycle_num } = cycle
  const now = svc.clock.monotonic()
  const duration_ms = Math.round(now - (cycle.get(BeganAt) ?? now))
  // A daemon that stops interrupts cycles, which is no failure of theirs.
  const isFailure = cycle.error !== undefined && !(cycle.error instanceof StoppingError)
  const error = isFailure ? { error: errorMessage(cycle.error).slice(0, LONGEST_ERROR) } : {}
  const data = JSON.parse(mask(JSON.stringify({ agent_id, cycle_num, result, duration_ms, ...error }))) as object
  cycle.effects.push(appendEvent({ type: 'cycle_done', agent_id, cycle_num, data: { ...data } }))
}
