import { z } from '#kernel'

/** Maximum limit in USD, so that amounts in micro-dollars and tokens stay exact integers. */
const MOST_USD = 1_000_000_000
const MOST_TOKENS = 1_000_000_000_000_000

const usd = z.number().min(0).max(MOST_USD)
const tokens = z.int().min(0).max(MOST_TOKENS)

/** The keys of section `daemon` that configure the budget. */
export const BudgetConfig = z.object({
  budget_usd: usd
    .default(0)
    .meta({ env: 'SVC_BUDGET_USD', protects: true })
    .describe('Spending limit of all agents and tasks together, in USD; 0 sets no limit'),
  budget_tokens: tokens
    .default(0)
    .meta({ env: 'SVC_BUDGET_TOKENS', protects: true })
    .describe('Limit of input and output tokens of all agents and tasks together; 0 sets no limit'),
  budget_mode: z
    .enum(['reserve', 'record_only'])
    .default('reserve')
    .describe(
      'reserve: the maximum cost of a call is reserved before the call; record_only: the actual cost is booked after it',
    ),
  budget_reserve_usd_generation: usd
    .default(0.05)
    .describe('Minimum reservation for any other call, such as one that generates a goal, in USD'),
  budget_reserve_usd_pursuit: usd
    .default(0.1)
    .describe('Minimum reservation for a call that pursues a goal, runs a task or summarizes a conversation, in USD'),
  budget_reserve_tokens_generation: tokens
    .default(100)
    .describe('Minimum reservation for any other call, such as one that generates a goal, in tokens'),
  budget_reserve_tokens_pursuit: tokens
    .default(500)
    .describe(
      'Minimum reservation for a call that pursues a goal, runs a task or summarizes a conversation, in tokens',
    ),
  budget_unknown_price: z
    .enum(['refuse', 'approve'])
    .default('refuse')
    .describe(
      'How to treat calls to a model of unknown price while a dollar limit is set. refuse: they are refused; approve: they wait for one approval per model (needs approval.enabled) and then count as $0',
    ),
  budget_persist: z
    .boolean()
    .default(false)
    .describe('Whether the amount spent is kept across restarts of the daemon; if so, .svc/budget.json shows it'),
})
export type BudgetConfig = z.infer<typeof BudgetConfig>

/** Limits in the units in which they are stored; 0 means no limit. */
export interface Limits {
  micros: number
  tokens: number
}

/** Returns the limits in micro-dollars and tokens; 0 means no limit. */
export function limitsOf({ budget_usd, budget_tokens }: BudgetConfig): Limits {
  return { micros: microsOf(budget_usd), tokens: budget_tokens }
}

/** Rounds dollars to micro-dollars. Positive amounts give at least 1, because 0 would mean no limit. */
export function microsOf(usd: number): number {
  return usd > 0 ? Math.max(1, Math.round(usd * 1e6)) : 0
}

/** Returns the kind whose estimate applies to a call: summaries and tasks are as large as steps of a pursuit. */
export function phaseOf(kind: string): 'pursuit' | 'generation' {
  return ['goal_pursuit', 'summary', 'task'].includes(kind) ? 'pursuit' : 'generation'
}

/** Returns the minimum reservation for a call of this kind; for a free model, only tokens. */
export function estimateOf(config: BudgetConfig, kind: string, free: boolean): Limits {
  const [usd, tokens] =
    phaseOf(kind) === 'pursuit'
      ? [config.budget_reserve_usd_pursuit, config.budget_reserve_tokens_pursuit]
      : [config.budget_reserve_usd_generation, config.budget_reserve_tokens_generation]
  return { micros: free ? 0 : microsOf(usd), tokens }
}
