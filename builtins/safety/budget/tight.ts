import type { CallPurpose } from '#core/models/contract'
import { formatCount } from '#lib/format-count'
import { type BudgetConfig, type Limits, limitsOf, phaseOf } from './config.ts'
import { BudgetExhaustedError } from './contract.ts'
import type { BudgetRow } from './repository.ts'
import { dollars } from './status.ts'

type BudgetExhausted = InstanceType<typeof BudgetExhaustedError>

/** Returns the amount of the call that did not fit the budget; null if none was refused. */
export function tightOf({ tight_micros, tight_tokens }: BudgetRow): Limits | null {
  return tight_micros === null || tight_tokens === null ? null : { micros: tight_micros, tokens: tight_tokens }
}

/** Returns whether a call of this amount fits the budget now. */
export function hasRoomFor(row: BudgetRow, limits: Limits, { micros, tokens }: Limits): boolean {
  const used = usageOf(row)
  const within = (limit: number, sum: number) => limit === 0 || sum <= limit
  return within(limits.micros, used.micros + micros) && within(limits.tokens, used.tokens + tokens)
}

/** Returns the error for the limit that is reached, with the amount used. */
export function exhaustedLimit(row: BudgetRow, { micros, tokens }: Limits): BudgetExhausted {
  const used = usageOf(row)
  return micros > 0 && row.spent_micros >= micros
    ? new BudgetExhaustedError({ spent: dollars(used.micros), limit: dollars(micros) })
    : new BudgetExhaustedError({ spent: formatCount(used.tokens), limit: `${formatCount(tokens)} tokens` })
}

export interface RefusedCall {
  row: BudgetRow
  kind: CallPurpose['kind']
  /** Maximum cost of the call. */
  bound: { cost_micros: number; tokens: number }
  /** Amount to reserve: the maximum cost, or the configured minimum. */
  amount: Limits
  /** Number of running calls with a reservation. */
  calls: number
}

/** Returns the error for a call that does not fit the budget: what is missing, and each way to allow it. */
export function tooTight(config: BudgetConfig, { row, kind, bound, amount, calls }: RefusedCall): BudgetExhausted {
  const limits = limitsOf(config)
  const used = usageOf(row)
  const byMoney = limits.micros > 0 && used.micros + amount.micros > limits.micros
  const unit = byMoney ? 'micros' : 'tokens'
  const key = byMoney ? 'usd' : 'tokens'
  const shown = byMoney ? dollars : (tokens: number) => `${formatCount(tokens)} tokens`
  const reserved = shown(byMoney ? row.reserved_micros : row.reserved_tokens)
  const phase = phaseOf(kind)
  const ofConfiguration = amount[unit] > (byMoney ? bound.cost_micros : bound.tokens)
  const frees = [
    ...(calls > 0 ? [`wait for the running calls to end (${reserved} are reserved for ${calls})`] : []),
    `raise daemon.budget_${key} to ${shown(used[unit] + amount[unit])} or more`,
    ofConfiguration ? `lower daemon.budget_reserve_${key}_${phase}` : "lower the profile's max_tokens",
    ...((byMoney ? row.spent_micros : row.spent_tokens) > 0 ? ['run: svc budget reset'] : []),
  ]
  const spent = byMoney ? dollars(used.micros) : formatCount(used.tokens)
  return new BudgetExhaustedError({ spent, limit: shown(limits[unit]), next: shown(amount[unit]), frees })
}

function usageOf(row: BudgetRow): Limits {
  return { micros: row.spent_micros + row.reserved_micros, tokens: row.spent_tokens + row.reserved_tokens }
}
