import { z } from '#kernel'
import { defineEffect, type Store } from '#platform/store/contract'

/** How long an agent is held while it is put back, in milliseconds; the process that dies over it holds it no longer. */
const HOLD_MS = 15_000
/** `run_at` of what never comes due by itself. */
const NEVER = Number.MAX_SAFE_INTEGER

const Hold = z.object({ agent_id: z.string(), owner: z.string() })

/** Takes an agent's lease, also from a cycle that runs: that one is fenced off, and writes nothing more. */
export const holdAgent = defineEffect({
  name: 'checkpoints.hold',
  mustChange: true,
  schema: Hold,
  statements: ({ agent_id, owner }, now) => [
    {
      sql: `UPDATE leases SET owner = ?, epoch = epoch + 1, run_at = ? WHERE id = ? AND EXISTS
              (SELECT 1 FROM agents a WHERE a.agent_id = leases.agent_id AND a.died_at IS NULL)`,
      params: [owner, now + HOLD_MS, agent_id],
    },
  ],
})

/** Releases it; refused when another process has taken it meanwhile. */
export const releaseAgent = defineEffect({
  name: 'checkpoints.release',
  mustChange: true,
  schema: Hold,
  statements: ({ agent_id, owner }, now) => [
    {
      sql: `UPDATE leases SET owner = NULL, woken = 0, run_at = CASE WHEN EXISTS (SELECT 1 FROM agents a
              WHERE a.agent_id = leases.agent_id AND (a.paused_at IS NOT NULL OR a.died_at IS NOT NULL)) THEN ? ELSE ? END
            WHERE id = ? AND owner = ?`,
      params: [NEVER, now, agent_id, owner],
    },
  ],
})

/** Returns live agents up to a limit, the latest active first. */
export function liveAgents(store: Store, limit: number): Promise<{ agent_id: string }[]> {
  return store.all(
    `SELECT a.agent_id FROM agents a JOIN leases l ON l.id = a.agent_id WHERE a.died_at IS NULL
     ORDER BY l.claimed_at DESC, a.agent_id LIMIT ?`,
    [limit],
  )
}

export const CHECKPOINT_EFFECTS = [holdAgent, releaseAgent]
