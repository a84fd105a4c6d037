import type { AgentRow } from '#core/agents/contract'
import { ContextUse } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { defineError, token, z } from '#kernel'

export { BookedSpend, bookSpend } from './statements.ts'

const Amount = z.object({ usd: z.number(), tokens: z.int() })
const Left = z.object({ usd: z.number().nullable(), tokens: z.int().nullable() })

/** State of the budget; null fields mean that no limit is set. */
export const BudgetStatus = z.object({
  spent: Amount.describe('Spent by all agents and tasks since the budget window began'),
  remaining: Left.describe('Remaining of the limits after what is spent and reserved'),
  reserved: Amount.describe('Amount reserved for running model calls'),
  limits: Left,
  mode: z.enum(['reserve', 'record_only']),
  exceeded: z
    .boolean()
    .describe('Whether a limit was reached: no model is called until the limit is raised or the budget is reset'),
  tight: z.boolean().describe('Whether less remains than a call may cost, so that calls wait'),
  unlimited: z.boolean(),
  message: z.string(),
  approximate: Amount.describe(
    'Part of the spent amount that is estimated from the length of requests and answers, because the provider reported no usage; includes unconfirmed amounts',
  ),
  unconfirmed: Amount.describe(
    'Part of the spent amount booked for calls whose process ended before their cost was known; replaced by the actual cost if it arrives, dropped with the budget window',
  ),
  unpriced_tokens: z
    .int()
    .describe('Tokens of models whose price is unknown; their cost is not part of the spent amount'),
  window_began_at: z.iso.datetime().nullable().describe('Start of the budget window; spending since then counts'),
  problem: z.string().nullable().describe('Why the amount spent is unknown'),
})
export type BudgetStatus = z.infer<typeof BudgetStatus>

/** A reason why a dollar limit may not work as expected, with the remedy. */
export interface BudgetWarning {
  code: 'unknown_price' | 'limit_never_reached'
  message: string
  remedy: string
}

export interface Budget {
  status(): Promise<BudgetStatus>
  /**
   * Returns warnings about model prices that weaken the dollar limit; empty when no limit is set. May query local model
   * servers.
   */
  warnings(): Promise<BudgetWarning[]>
  /** Returns whether a limit is reached, so that nothing costly may begin. Cheap enough to call before each phase. */
  isExceeded(): Promise<boolean>
  /**
   * Returns the smallest remaining share of an agent's own limits and of those above it, from 0 to 1; null when none is
   * set.
   */
  shareLeft(agent: AgentRow, profile: Profile): Promise<number | null>
  /** Starts counting from 0 again. Reservations of running calls stay. */
  reset(): Promise<BudgetStatus>
  /** @deprecated Use `isExceeded`. */
  exceeded?: Budget['isExceeded']
}
export const Budget = token<Budget>('budget', {
  status: 'function',
  warnings: 'function',
  isExceeded: 'function',
  shareLeft: 'function',
  reset: 'function',
})

export const BudgetExceeded = z
  .object({ spent_usd: z.number(), spent_tokens: z.int() })
  .describe('A limit of the budget was reached; emitted once per budget window')
const usd = z.number()
const tokens = z.int()
export const BudgetTight = z
  .object({
    spent_usd: usd,
    spent_tokens: tokens,
    reserved_usd: usd.describe('Amount reserved for running model calls, in USD'),
    reserved_tokens: tokens,
    reserved_calls: z.int(),
    limit_usd: usd.nullable(),
    limit_tokens: tokens.nullable(),
    needed_usd: usd.describe('Maximum cost of the refused call'),
    needed_tokens: tokens,
  })
  .describe('The remaining budget does not cover one more call; emitted once until a call fits again')
export const AgentBudgetExhausted = z
  .object({
    agent_id: z.string(),
    key: z.enum(['max_cost_usd', 'max_total_cost_usd']).describe('Profile key that sets the limit'),
    limit_usd: usd,
    spent_usd: usd,
  })
  .describe("The remainder of an agent's limit does not cover one more call; emitted once for each value of the limit")
export const BudgetReset = z
  .object({ spent_usd: z.number(), spent_tokens: z.int() })
  .describe('The budget counters were reset; the figures are those before the reset')

declare module '#kernel' {
  interface Replaceable {
    budget: { budget: Budget }
  }
  interface Events {
    /** Emitted once per budget window. */
    budget_exceeded: z.infer<typeof BudgetExceeded>
    /** Emitted each time that the budget becomes too tight for a call. */
    budget_tight: z.infer<typeof BudgetTight>
    /** Emitted once for each value of the limit. */
    agent_budget_exhausted: z.infer<typeof AgentBudgetExhausted>
    /** Data are the amounts spent before the reset. */
    budget_reset: z.infer<typeof BudgetReset>
  }
}

/** The budget is used up, or does not cover one more call; raise daemon.budget_usd or daemon.budget_tokens, or run: svc budget reset */
export const BudgetExhaustedError = defineError({
  code: 'budget_exhausted',
  status: 409,
  title: 'Budget exhausted',
  message: ({ spent, limit, next, frees }: { spent: string; limit: string; next?: string; frees?: string[] }) => {
    const ways = [frees?.slice(0, -1).join(', '), frees?.at(-1)].join(', or ')
    return next
      ? `The budget is too tight for another model call: ${spent} of ${limit} are spent or reserved, and this one may cost ${next}; ${ways}`
      : `The budget is used up (${spent} spent or reserved of ${limit}); raise daemon.budget_usd or daemon.budget_tokens, or run: svc budget reset`
  },
})
export const UnknownPriceError = defineError({
  code: 'unknown_price',
  status: 409,
  title: 'Unknown price',
  message: (p: { model: string; why: string; remedy: string }) =>
    `The price of ${p.model} is unknown, ${p.why}; ${p.remedy}.`,
})
/** The agent has used up its profile's max_cost_usd or max_total_cost_usd; raise that, or set 0 for no limit. */
export const AgentBudgetExhaustedError = defineError({
  code: 'agent_budget_exhausted',
  status: 409,
  title: "Agent's budget exhausted",
  message: (p: { agent_id: string; spent: string; limit: string; total?: TotalRefusal }) => {
    if (!p.total)
      return `${p.agent_id} has spent ${p.spent} on its goals, and its profile's max_cost_usd is ${p.limit}; raise that (0 sets no limit).`
    const { held, next, raise } = p.total
    const facts = [
      `${p.agent_id} has spent ${p.spent} in total`,
      held && `${held} are reserved for running calls`,
      next && `this call may cost ${next}`,
      `and its profile's max_total_cost_usd is ${p.limit}`,
    ]
    const remedy = next ? `raise that to ${raise} or more, or lower max_tokens` : 'raise that (0 sets no limit)'
    return `${facts.filter(Boolean).join(', ')}; ${remedy}.`
  },
})
/** Formatted amounts of a call that `max_total_cost_usd` refuses. */
interface TotalRefusal {
  /** Reserved for running calls; undefined when nothing is. */
  held: string | undefined
  /** Maximum cost of the call; undefined when the limit was already spent. */
  next: string | undefined
  /** The limit that would allow the call. */
  raise: string
}
export const BudgetUnreadableError = defineError({
  code: 'budget_unreadable',
  status: 503,
  title: 'Budget unreadable',
  message: (p: { file: string; problem: string }) =>
    `The amount spent so far is unknown: ${p.file} ${p.problem}. Repair the file, or reset the counters with: svc budget reset`,
})

/** Event of a model call; emitted once per call, when its cost is booked. */
export const ModelCalled = z.object({
  agent_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  call_id: z.string(),
  kind: z
    .string()
    .describe('Purpose of the call: `goal_generation`, `goal_pursuit`, `summary`, `task`, `life_event`, `other`'),
  failed: z.boolean().describe('Whether the call failed to return an answer'),
  step: z.int().nullable(),
  model: z.string(),
  failover_from: z.string().optional().describe('Model that was called first and gave no answer'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
  priced: z.string(),
  estimated: z.boolean(),
  attempts: z.int(),
  duration_ms: z.number(),
  context: ContextUse.optional(),
})
