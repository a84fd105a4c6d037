import { operation, z } from '#kernel'
import { formatCount } from '#lib/format-count'
import { formatUsd } from '#lib/usd'
import { Budget, BudgetStatus } from './contract.ts'

export const budgetStatus = operation({
  name: 'budget.status',
  summary: 'Show the spent, reserved and remaining budget',
  description:
    'Covers all agents and tasks together, with the limits in force and the amounts that are still unconfirmed.',
  input: z.strictObject({}),
  output: BudgetStatus,
  http: { method: 'GET', path: '/budget', daemon: true },
  cli: { usage: 'budget' },
  mcp: true,
  run: (_, { svc }) => svc.use(Budget).status(),
  render,
})

export const budgetReset = operation({
  name: 'budget.reset',
  summary: 'Reset the budget counters',
  description: 'Counting starts again at 0; the records of past spending are kept.',
  input: z.strictObject({}),
  output: BudgetStatus,
  http: { method: 'POST', path: '/budget/reset', daemon: true },
  cli: { usage: 'budget reset' },
  run: (_, { svc }) => svc.use(Budget).reset(),
  render,
})

export const budgetOperations = [budgetStatus, budgetReset]

function render({
  message,
  spent,
  unconfirmed,
  reserved,
  limits,
  remaining,
  mode,
  window_began_at,
}: BudgetStatus): string {
  const rows: [string, { usd: number | null; tokens: number | null }][] = [
    ['spent', spent],
    ['unconfirmed', unconfirmed],
    ['reserved', reserved],
    ['limit', limits],
    ['remaining', remaining],
  ]
  return [
    message,
    '',
    ...rows.map(([name, { usd, tokens }]) => {
      const money = usd === null ? 'unlimited' : formatUsd(usd)
      return `${name.padEnd(11)}  ${money.padEnd(12)}  ${tokens === null ? 'unlimited' : `${formatCount(tokens)} tokens`}`
    }),
    `${'mode'.padEnd(11)}  ${mode}`,
    `${'since'.padEnd(11)}  ${window_began_at ?? 'the beginning'}`,
  ].join('\n')
}
