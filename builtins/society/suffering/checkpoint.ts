import { isDeepStrictEqual } from 'node:util'
import type { CheckpointPart } from '#core/checkpoints/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { findLot, restoreLife } from './repository.ts'
import { newborn, PersistedState } from './state/state.ts'

/** An inner life as it stood. Base and stressors are kept, never what they amount to: that would become the base of the next. */
export function checkpointPart(svc: PluginHandle): CheckpointPart {
  const part: CheckpointPart<PersistedState> = {
    name: 'suffering',
    schema: PersistedState,
    async capture(agent_id) {
      const inner = (await findLot(svc.use(Store), agent_id))?.inner
      return isDeepStrictEqual(inner, newborn()) ? undefined : inner
    },
    restore: async (agent_id, inner = newborn()) => [restoreLife({ agent_id, inner })],
  }
  return part as CheckpointPart
}
