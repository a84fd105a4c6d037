/** The effect that books the cost of a model call. */
import { ContextUse } from '#core/models/contract'
import { z } from '#kernel'
import { type AppendedEvent, defineEffect, RUN_OF, type Statement, usdOf } from '#platform/store/contract'
import type { ModelCalled } from './contract.ts'

/** Cost of a model call, as booked. */
export const BookedSpend = z.object({
  call_id: z.string(),
  agent_id: z.string().nullable(),
  root_agent_id: z
    .string()
    .nullable()
    .optional()
    .describe('Agent that pays; by default the topmost agent of those that created this one'),
  goal_id: z.string().nullable(),
  run_id: z.string().nullable().optional().describe("Run (default: the project's open daemon run)"),
  cycle_num: z.int().nullable().optional(),
  step: z.int().nullable().optional().describe('Number of the model call within its cycle or task, from 1'),
  kind: z.string(),
  failed: z.boolean().optional().describe('Whether the call failed to return an answer'),
  model: z.string(),
  failover_from: z.string().optional().describe('Model that was called first and gave no answer'),
  cost_micros: z.int().min(0),
  input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
  cached_tokens: z.int().min(0).optional(),
  cache_write_tokens: z.int().min(0).optional(),
  priced: z.string(),
  estimated: z.boolean(),
  attempts: z.int(),
  duration_ms: z.number(),
  context: ContextUse.optional(),
  held: z.boolean().optional().describe('Whether the call has a reservation, which is released now (default: true)'),
})

function modelCalled(spend: z.output<typeof BookedSpend>): AppendedEvent {
  const { agent_id, cycle_num, run_id } = spend
  // Fields are listed one by one, because spreading objects takes a hundred times as long.
  const data: z.output<typeof ModelCalled> = {
    agent_id,
    goal_id: spend.goal_id,
    call_id: spend.call_id,
    kind: spend.kind,
    failed: spend.failed ?? false,
    step: spend.step ?? null,
    model: spend.model,
    input_tokens: spend.input_tokens,
    output_tokens: spend.output_tokens,
    cost_usd: usdOf(spend.cost_micros),
    priced: spend.priced,
    estimated: spend.estimated,
    attempts: spend.attempts,
    duration_ms: spend.duration_ms,
    failover_from: spend.failover_from,
    context: spend.context,
  }
  const unless = { sql: 'SELECT 1 FROM spend WHERE call_id = ? AND presumed = 0', params: [spend.call_id] }
  return { type: 'model_called', agent_id, cycle_num, run_id, data, unless }
}

const BOOK = `INSERT INTO spend (call_id, agent_id, root_agent_id, goal_id, run_id, kind, model, cost_micros, input_tokens,
    output_tokens, cached_tokens, cache_write_tokens, priced, estimated, attempts, duration_ms, at, budget_window)
  VALUES (?, ?, coalesce(?, (SELECT root_agent_id FROM agents_view WHERE agent_id = ?), ?), ?, ${RUN_OF}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, (SELECT budget_window FROM budget))
  ON CONFLICT (call_id) DO UPDATE SET cost_micros = excluded.cost_micros, input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens, cached_tokens = excluded.cached_tokens,
    cache_write_tokens = excluded.cache_write_tokens, priced = excluded.priced, estimated = excluded.estimated,
    attempts = excluded.attempts, duration_ms = excluded.duration_ms, at = excluded.at,
    budget_window = excluded.budget_window, presumed = 0
  WHERE spend.presumed = 1`

/**
 * Books the cost of a model call and releases its reservation. Written even when the cycle lost its lease, because the
 * model was paid, and only once per call. Replaces a presumed cost.
 */
export const bookSpend = defineEffect({
  name: 'spend.book',
  always: true,
  optional: true,
  schema: BookedSpend,
  // An amount carried over from a file is no call.
  events: spend => (spend.kind === 'carried' ? [] : [modelCalled(spend)]),
  statements: (spend, now): Statement[] => {
    const { call_id, agent_id, root_agent_id = null, cost_micros, input_tokens, output_tokens } = spend
    return [
      {
        sql: `UPDATE budget SET
                spent_micros = spent_micros + ? - coalesce((SELECT cost_micros FROM spend WHERE call_id = ?
                  AND spend.budget_window = budget.budget_window), 0),
                spent_tokens = spent_tokens + ? - coalesce((SELECT input_tokens + output_tokens FROM spend WHERE call_id = ?
                  AND spend.budget_window = budget.budget_window), 0)
              WHERE NOT EXISTS (SELECT 1 FROM spend WHERE call_id = ? AND presumed = 0)`,
        params: [cost_micros, call_id, input_tokens + output_tokens, call_id, call_id],
      },
      {
        sql: BOOK,
        params: [
          call_id,
          agent_id,
          root_agent_id,
          agent_id,
          agent_id,
          spend.goal_id,
          spend.run_id,
          spend.kind,
          spend.model,
          cost_micros,
          input_tokens,
          output_tokens,
          spend.cached_tokens ?? 0,
          spend.cache_write_tokens ?? 0,
          spend.priced,
          spend.estimated,
          spend.attempts,
          Math.round(spend.duration_ms),
          now,
        ],
      },
      ...(spend.held === false
        ? []
        : [{ sql: 'DELETE FROM budget_reservations WHERE call_id = ?', params: [call_id] }]),
    ]
  },
})
