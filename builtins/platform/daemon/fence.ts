import type { CallLimit, PlannedSpend } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { FencedError } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'

const HELD = "SELECT 1 AS held FROM leases WHERE id = ? AND kind = 'agent' AND owner = ? AND cycle_num = ?"

/**
 * A cycle whose agent another daemon has taken over, as after the machine slept, or that was deleted, asks no model any more: it
 * learns of that only when it writes, and would pay until then for answers that nobody can use.
 */
export function fenceLimit(svc: PluginHandle): CallLimit {
  const stand = async ({ purpose: { agent_id, cycle_num, kind } }: PlannedSpend) => {
    if (agent_id === null || kind === 'task' || kind === 'other') return
    const store = svc.use(Store)
    if (!(await store.glance(HELD, [agent_id, store.owner, cycle_num]))) throw new FencedError({ agent_id })
  }
  return { name: 'fence', hold: stand, async settle() {} }
}
