import { isDeepStrictEqual } from 'node:util'
import type { CheckpointPart } from '#core/checkpoints/contract'
import type { Identities } from './identities.ts'
import { EMPTY_STORY } from './narrative.ts'
import { IdentityRow, restoreIdentity } from './repository.ts'

const { seq: _, ...story } = EMPTY_STORY
const EMPTY_IDENTITY: IdentityRow = { story, worldview: '', chapters: [], opinions: [], questions: [], notes: [] }

/** Captures and restores an identity, narrated up to its last event. */
export function checkpointPart(identities: Identities): CheckpointPart {
  const part: CheckpointPart<IdentityRow> = {
    name: 'identity',
    schema: IdentityRow,
    async capture(agent_id) {
      const kept = await identities.readIdentity(agent_id)
      return isDeepStrictEqual(kept, EMPTY_IDENTITY) ? undefined : kept
    },
    restore: async (agent_id, kept = EMPTY_IDENTITY) => [restoreIdentity({ agent_id, kept })],
  }
  return part as CheckpointPart
}
