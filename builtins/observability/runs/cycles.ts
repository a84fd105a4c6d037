import { errorMessage, type PluginHandle, token } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent } from '#platform/store/contract'

const BeganAt = token<number>('cycle_began_at')
/** Results that are worth a line only when something was written all the same. */
const QUIET: readonly string[] = ['idle', 'parked', 'guarded']
const LONGEST_ERROR = 1_000

/** Notes when a cycle began. */
export function cycleBegins(svc: PluginHandle, cycle: Cycle): void {
  cycle.set(BeganAt, svc.clock.monotonic())
}

/** The last of a cycle's writes says that it was: in the transaction that ends it, so that it costs none of its own. */
export function cycleEnds(svc: PluginHandle, mask: (json: string) => string, cycle: Cycle): void {
  const result = cycle.vetoed && cycle.error === undefined ? 'guarded' : cycle.result
  if (QUIET.includes(result) && cycle.effects.length === 0) return
  const { agent_id, cycle_num } = cycle
  const now = svc.clock.monotonic()
  const duration_ms = Math.round(now - (cycle.get(BeganAt) ?? now))
  const error = cycle.error === undefined ? {} : { error: errorMessage(cycle.error).slice(0, LONGEST_ERROR) }
  const data = JSON.parse(mask(JSON.stringify({ agent_id, cycle_num, result, duration_ms, ...error }))) as object
  cycle.effects.push(appendEvent({ type: 'cycle_done', agent_id, cycle_num, data: { ...data } }))
}
