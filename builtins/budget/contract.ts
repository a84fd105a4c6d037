import { defineError, token, z } from '#kernel'

const Amount = z.object({ usd: z.number(), tokens: z.number().int() })
const Left = z.object({ usd: z.number().nullable(), tokens: z.number().int().nullable() })

/** Where the budget stands; null where nothing limits. */
export const BudgetStatus = z.object({
  spent: Amount,
  remaining: Left,
  reserved: Amount,
  limits: Left,
  mode: z.enum(['reserve', 'record_only']),
  exceeded: z.boolean(),
  unlimited: z.boolean(),
  message: z.string(),
})
export type BudgetStatus = z.infer<typeof BudgetStatus>

export interface Budget {
  status(): Promise<BudgetStatus>
  /** Nothing that costs may begin: a limit was reached. Cheap enough to ask before each phase. */
  exceeded(): Promise<boolean>
}
export const Budget = token<Budget>('budget')

declare module '#kernel' {
  interface Events {
    budget_exceeded: { spent_usd: number; spent_tokens: number }
  }
}

export const BudgetExhaustedError = defineError({
  code: 'budget_exhausted',
  status: 409,
  title: 'Budget exhausted',
  sentence: (p: { spent: string; limit: string }) =>
    `The budget is used up (${p.spent} spent or reserved of ${p.limit}); raise daemon.budget_usd or daemon.budget_tokens, or run: svc budget reset`,
})
