import type { PluginHandle } from '#kernel'
import { shareCalls } from '#lib/share-calls'
import { Budget, type BudgetStatus } from '#safety/budget/contract'
import type { Metric } from './contract.ts'

/** Returns the state of the budget, when one exists. A limit that is not set has no sample. */
export function budgetMetrics(svc: PluginHandle): Metric[] {
  const status = shareCalls(async () => (svc.has(Budget) ? svc.use(Budget).status() : undefined))
  const gauge = (name: string, help: string, of: (status: BudgetStatus) => number | null): Metric => ({
    name,
    help,
    type: 'gauge',
    collect: async () => {
      const now = await status()
      return (now && of(now)) ?? undefined
    },
  })
  return [
    gauge('svc_budget_spent_usd', 'Dollars spent in the current budget window.', ({ spent }) => spent.usd),
    gauge('svc_budget_spent_tokens', 'Tokens spent in the current budget window.', ({ spent }) => spent.tokens),
    gauge('svc_budget_reserved_usd', 'Dollars reserved for calls in progress.', ({ reserved }) => reserved.usd),
    gauge('svc_budget_reserved_tokens', 'Tokens reserved for calls in progress.', ({ reserved }) => reserved.tokens),
    gauge('svc_budget_limit_usd', 'Budget limit in dollars, if one is set.', ({ limits }) => limits.usd),
    gauge('svc_budget_limit_tokens', 'Budget limit in tokens, if one is set.', ({ limits }) => limits.tokens),
    gauge('svc_budget_exceeded', '1 while a budget limit is reached, otherwise 0.', ({ exceeded }) => Number(exceeded)),
  ]
}
