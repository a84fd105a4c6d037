import { isDeepStrictEqual } from 'node:util'
import type { CheckpointPart } from '#core/checkpoints/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { findSituation, restoreLife } from './repository.ts'
import { initialState, PersistedState } from './state/state.ts'

/**
 * Captures and restores an agent's inner state. Stores base values and stressors, not effective values, which would
 * otherwise become the new base.
 */
export function checkpointPart(svc: PluginHandle): CheckpointPart {
  const part: CheckpointPart<PersistedState> = {
    name: 'suffering',
    schema: PersistedState,
    async capture(agent_id) {
      const inner = (await findSituation(svc.use(Store), agent_id))?.inner
      return isDeepStrictEqual(inner, initialState()) ? undefined : inner
    },
    restore: async (agent_id, inner = initialState()) => [restoreLife({ agent_id, inner })],
  }
  return part as CheckpointPart
}
