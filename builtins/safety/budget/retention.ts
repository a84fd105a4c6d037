import { type PluginHandle, z } from '#kernel'
import { RetentionRules } from '#platform/retention/contract'
import { AMONG, countRows, defineEffect, Effects, jsonList, Store } from '#platform/store/contract'

const PRESENT = '(SELECT budget_window FROM budget)'
/** Condition for rows of single calls, and for sums of a past window. */
const SUMMABLE = `at < ? AND budget_window > 0 AND (budget_window < ${PRESENT} OR substr(call_id, 1, 4) <> 'sum:')`
/**
 * Condition for rows of goals that get no further calls, so that what a goal cost is either complete or absent. Each row
 * looks up its goal: a list of all goals would be made again for each piece.
 */
const OF_PAST_GOAL = `(goal_id IS NULL OR NOT EXISTS (SELECT 1 FROM goals_view g WHERE g.goal_id = spend.goal_id
  AND (g.status = 'active' OR g.completed_at >= ?)))`
const OLD = `${SUMMABLE} AND ${OF_PAST_GOAL}`

/** Day of a call in UTC, in milliseconds. */
const DAY = 'at - at % 86400000'

/**
 * Sums rows of calls by day, agent, payer, kind and model, so that totals and the history by day stay unchanged. Window
 * 0 holds the sums of past windows. The current window, which may last for years, has separate sums, with uncertain and
 * unconfirmed amounts apart.
 */
const addUp = defineEffect({
  name: 'spend.add_up',
  schema: z.object({ call_ids: z.array(z.string()) }),
  statements: ({ call_ids }) => {
    const params = [jsonList(call_ids)]
    return [
      {
        sql: `INSERT INTO spend (call_id, agent_id, root_agent_id, kind, model, cost_micros, input_tokens, output_tokens,
                cached_tokens, cache_write_tokens, priced, estimated, presumed, attempts, duration_ms, at, budget_window, calls)
              SELECT 'sum:' || part || kind || ':' || coalesce(agent_id, '') || ':' || coalesce(root_agent_id, '') || ':' ||
                  day || ':' || model, agent_id, root_agent_id, kind, model, sum(cost_micros), sum(input_tokens), sum(output_tokens), sum(cached_tokens),
                sum(cache_write_tokens), CASE WHEN part LIKE '%unknown:' THEN 'unknown' ELSE 'sum' END,
                CASE WHEN part LIKE '%unsure:' THEN 1 ELSE 0 END, CASE WHEN part LIKE '%unconfirmed:%' THEN 1 ELSE 0 END,
                sum(attempts),
                sum(duration_ms), max(at), CASE WHEN part = '' THEN 0 ELSE max(budget_window) END, sum(calls)
              FROM (SELECT *, ${DAY} AS day, CASE WHEN budget_window < ${PRESENT} THEN '' ELSE budget_window || ':' ||
                  CASE WHEN presumed = 1 THEN 'unconfirmed:' ELSE '' END || CASE WHEN priced = 'unknown' THEN 'unknown:'
                  WHEN priced = 'default' OR estimated = 1 THEN 'unsure:' ELSE '' END END AS part
                FROM spend WHERE call_id ${AMONG}) old
              GROUP BY agent_id, root_agent_id, kind, model, day, part
              ON CONFLICT (call_id) DO UPDATE SET cost_micros = spend.cost_micros + excluded.cost_micros,
                input_tokens = spend.input_tokens + excluded.input_tokens,
                output_tokens = spend.output_tokens + excluded.output_tokens,
                cached_tokens = spend.cached_tokens + excluded.cached_tokens,
                cache_write_tokens = spend.cache_write_tokens + excluded.cache_write_tokens,
                attempts = spend.attempts + excluded.attempts, duration_ms = spend.duration_ms + excluded.duration_ms,
                at = max(spend.at, excluded.at), calls = spend.calls + excluded.calls`,
        params,
      },
      { sql: `DELETE FROM spend WHERE call_id ${AMONG}`, params },
    ]
  },
})

/** Removes rows of single calls; their cost is kept in sums. */
export function budgetForgets(svc: PluginHandle): void {
  svc.add(Effects, addUp.kind)
  svc.add(RetentionRules, {
    name: 'spend',
    count(before) {
      return countRows(svc.use(Store), `FROM spend WHERE ${OLD}`, [before, before])
    },
    async piece(before, limit) {
      const store = svc.use(Store)
      const rows = await store.all<{ call_id: string }>(`SELECT call_id FROM spend WHERE ${OLD} LIMIT ?`, [
        before,
        before,
        limit,
      ])
      if (rows.length > 0) await store.apply([addUp({ call_ids: rows.map(row => row.call_id) })])
      return rows.length
    },
  })
}
