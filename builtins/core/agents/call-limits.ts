import type { CallLimit } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { DaemonFrozenError, Freeze } from '#platform/daemon/contract'
import { FencedError } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'

/** Stops a pursuit that is under way before its next model call. A one-shot task goes on. */
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
  }
}

const HELD = "EXISTS (SELECT 1 FROM leases_view WHERE id = ? AND kind = 'agent' AND owner = ? AND cycle_num = ?)"

/**
 * Stops model calls of a cycle whose agent another daemon has taken over, as after the machine slept, or that was
 * deleted:
 * it would learn of that only when it writes, and pay until then for answers that cannot be used.
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
  }
}
