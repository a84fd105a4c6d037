import { z } from '#kernel'
import { defineEffect, type Store } from '#platform/store/contract'
import { returnLease, takeLease } from '#platform/store/statements'

/** Length of the lease while an agent is restored, in milliseconds; it expires by itself if the process dies. */
const HOLD_MS = 15_000

const Hold = z.object({ agent_id: z.string(), owner: z.string() })

/** Takes an agent's lease, also from a running cycle, whose further writes are refused. */
export const holdAgent = defineEffect({
  name: 'checkpoints.hold',
  mustChange: true,
  schema: Hold,
  statements: ({ agent_id, owner }, now) => takeLease(agent_id, owner, now + HOLD_MS),
})

/** Releases the lease; refused when another process has taken it since. */
export const releaseAgent = defineEffect({
  name: 'checkpoints.release',
  mustChange: true,
  schema: Hold,
  statements: ({ agent_id, owner }, now) => returnLease(agent_id, owner, now),
})

/** Returns live agents up to a limit, most recently active first. */
export function liveAgents(store: Store, limit: number): Promise<{ agent_id: string }[]> {
  return store.all(
    `SELECT a.agent_id FROM agents_view a JOIN leases_view l ON l.id = a.agent_id WHERE a.died_at IS NULL
     ORDER BY l.claimed_at DESC, a.agent_id LIMIT ?`,
    [limit],
  )
}

export const CHECKPOINT_EFFECTS = [holdAgent, releaseAgent]
