import type { CallLimit } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { DaemonFrozenError, Freeze } from '#platform/daemon/contract'
import { FencedError } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'

/** Stops a running pursuit before its next model call while the daemon is frozen. A one-shot task continues. */
export function freezeLimit(svc: PluginHandle): CallLimit {
  return {
    name: 'freeze',
    question({ kind, task_id }) {
      if (kind === 'task' || task_id !== undefined || !svc.has(Freeze)) return undefined
      const { condition } = svc.use(Freeze)
      return condition === undefined ? undefined : { sql: condition }
    },
    async hold(_, frozen) {
      if (frozen) throw new DaemonFrozenError()
    },
    async settle() {},
    checks_waiting: true,
  }
}

const HELD = "EXISTS (SELECT 1 FROM leases_view WHERE id = ? AND kind = 'agent' AND owner = ? AND cycle_num = ?)"

/**
 * Stops model calls of a cycle whose agent was deleted, or taken over by another daemon, as after the machine slept.
 * Otherwise the cycle would notice only when it writes, and pay for answers that cannot be used.
 */
export function fenceLimit(svc: PluginHandle): CallLimit {
  return {
    name: 'fence',
    question({ agent_id, cycle_num, kind, task_id }) {
      if (agent_id === null || kind === 'task' || task_id !== undefined || kind === 'other') return undefined
      return { sql: HELD, params: [agent_id, svc.use(Store).owner, cycle_num] }
    },
    async hold({ purpose }, held) {
      if (held === 0) throw new FencedError({ agent_id: String(purpose.agent_id) })
    },
    async settle() {},
    checks_waiting: true,
  }
}
