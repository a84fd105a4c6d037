import type { PluginHandle } from '#kernel'
import { sanitizeLine } from '#lib/sanitize'
import { Freeze } from '#platform/daemon/contract'
import { Store } from '#platform/store/contract'
import type { Peers } from './contract.ts'

/** Maximum number of words searched for; more do not improve the result. */
const MAX_WORDS = 8

interface PeerRow {
  agent_id: string
  name: string
  role: string
  objective: string | null
  /** Why the agent does nothing now; null while it can work. */
  held: string | null
}

const OBJECTIVE = `(SELECT objective FROM goals_view WHERE agent_id = a.agent_id AND status = 'active'
  ORDER BY priority DESC, created_at LIMIT 1)`

const HELD = `CASE WHEN a.paused_at IS NOT NULL THEN 'paused'
  WHEN EXISTS (SELECT 1 FROM approvals_view p WHERE p.agent_id = a.agent_id AND p.status = 'pending' AND p.task_id IS NULL)
    OR (a.waiting_for IS NOT NULL AND EXISTS (SELECT 1 FROM questions_view q
      WHERE q.agent_id = a.agent_id AND q.answered_at IS NULL)) THEN 'waits for the operator' END`

export function peers(svc: PluginHandle): Peers {
  return {
    async list(agent_id, limit, words = '') {
      const wanted = [...new Set(words.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])].slice(0, MAX_WORDS)
      const text = "lower(a.name || ' ' || a.role)"
      const fit = wanted.map(() => `CASE WHEN ${text} LIKE ? THEN 1 ELSE 0 END`).join(' + ') || '1'
      const rows = await svc.use(Store).all<PeerRow & { total: number }>(
        `SELECT agent_id, name, role, objective, held, count(*) OVER () AS total FROM
           (SELECT a.agent_id, a.name, substr(a.role, 1, 120) AS role, substr(${OBJECTIVE}, 1, 120) AS objective, ${HELD} AS held, a.spawned_at,
              ${fit} AS fit FROM agents_view a WHERE a.agent_id <> ? AND a.died_at IS NULL) found
         WHERE fit > 0 ORDER BY fit DESC, spawned_at DESC, agent_id LIMIT ?`,
        [...wanted.map(word => `%${word}%`), agent_id, limit],
      )
      const frozen = svc.has(Freeze) && (await svc.use(Freeze).isFrozen())
      const lines = rows.map(row => lineOf(frozen ? { ...row, held: row.held ?? 'frozen' } : row))
      return { lines, more: Math.max(0, (rows[0]?.total ?? 0) - rows.length) }
    },
  }
}

function lineOf({ agent_id, name, role, objective, held }: PeerRow): string {
  const state = [objective, held].filter(Boolean).join('; ') || 'idle'
  return sanitizeLine(`${agent_id} (${name}): ${role}; ${state}`)
}
