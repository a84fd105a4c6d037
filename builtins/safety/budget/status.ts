import { formatCount } from '#lib/format-count'
import { isoTime, usdOf } from '#platform/store/contract'
import { type BudgetConfig, type Limits, limitsOf } from './config.ts'
import type { BudgetStatus } from './contract.ts'
import type { BudgetRow } from './repository.ts'

/** Returns whether the amount spent has reached a limit. */
export function hasReachedLimit(row: BudgetRow, limits: Limits): boolean {
  const over = (spent: number, limit: number) => limit > 0 && spent >= limit
  return over(row.spent_micros, limits.micros) || over(row.spent_tokens, limits.tokens)
}

export interface Facts {
  row: BudgetRow
  unsure: Limits & { unpriced: number }
  /** Booked for calls of unknown cost. */
  unconfirmed: Limits
  /**
   * Amount of the last call if it did not fit the budget; before any call, the smallest reservation; null if the call
   * fitted.
   */
  refused: Limits | null
  /** Whether a changed limit waits for a restart. */
  awaitsRestart: boolean
  /** Why the amount spent is unknown; nothing may be spent then. */
  problem: string | null
}

/** Returns the state of the budget, as numbers and as a message. */
export function statusOf(config: BudgetConfig, facts: Facts): BudgetStatus {
  const { row, unsure, unconfirmed, refused, awaitsRestart, problem } = facts
  const limits = limitsOf(config)
  const spent = { micros: row.spent_micros, tokens: row.spent_tokens }
  const reserved = { micros: row.reserved_micros, tokens: row.reserved_tokens }
  const exceeded = problem !== null || hasReachedLimit(row, limits)
  const remainingOf = (limit: number, used: number) => (limit > 0 ? Math.max(0, limit - used) : null)
  const remaining = {
    micros: remainingOf(limits.micros, spent.micros + reserved.micros),
    tokens: remainingOf(limits.tokens, spent.tokens + reserved.tokens),
  }
  const unlimited = limits.micros === 0 && limits.tokens === 0
  const tight = exceeded || config.budget_mode !== 'reserve' ? undefined : tightness(remaining, refused)
  const summary = problem ?? summaryOf({ spent, limits, exceeded, unlimited, tight, awaitsRestart })
  // The tokens of unconfirmed calls are estimated too.
  const estimated = { micros: unsure.micros - unconfirmed.micros, tokens: unsure.tokens - unconfirmed.tokens }
  const [about, guessed] = [amounts(estimated), amounts(unconfirmed)]
  return {
    spent: toUsdAndTokens(spent),
    remaining: { usd: usdOrNull(remaining.micros), tokens: remaining.tokens },
    reserved: toUsdAndTokens(reserved),
    limits: { usd: usdOrNull(limits.micros || null), tokens: limits.tokens || null },
    mode: config.budget_mode,
    exceeded,
    tight: tight !== undefined,
    unlimited,
    message: [
      summary,
      about &&
        `${about} of that are estimated from the length of requests and answers, because the provider reported no usage.`,
      guessed &&
        `${guessed} of that are unconfirmed: booked for calls whose process ended before their cost was known.`,
      unsure.unpriced > 0 &&
        `${formatCount(unsure.unpriced)} tokens went to models whose price is unknown: their cost is not counted.`,
    ]
      .filter(Boolean)
      .join(' '),
    approximate: toUsdAndTokens(unsure),
    unconfirmed: toUsdAndTokens(unconfirmed),
    unpriced_tokens: unsure.unpriced,
    window_began_at: row.began_at > 0 ? isoTime(row.began_at) : null,
    problem,
  }
}

/** Returns which limit is too low for a call of this amount; none if the last call could be reserved. */
function tightness(remaining: Remaining, refused: Facts['refused']): string | undefined {
  if (refused === null) return undefined
  const { micros, tokens } = refused
  if (remaining.micros !== null && remaining.micros < micros)
    return `the ${dollars(remaining.micros)} left are less than a call may cost (${dollars(micros)})`
  if (remaining.tokens !== null && remaining.tokens < tokens)
    return `the ${formatCount(remaining.tokens)} tokens left are less than a call may cost (${formatCount(tokens)} tokens)`
  return undefined
}

interface Remaining {
  micros: number | null
  tokens: number | null
}

interface BudgetState {
  spent: Limits
  limits: Limits
  exceeded: boolean
  unlimited: boolean
  tight: string | undefined
  awaitsRestart: boolean
}

function summaryOf({ spent, limits, exceeded, unlimited, tight, awaitsRestart }: BudgetState): string {
  if (unlimited) return `Unlimited: ${dollars(spent.micros)} and ${formatCount(spent.tokens)} tokens spent.`
  const used = usage(spent, limits)
  const raised = awaitsRestart ? 'the changed limit is applied (svc restart)' : 'a limit is raised'
  if (exceeded)
    return `Exceeded: ${used} spent; no model is called until ${raised}, or the counters are reset (svc budget reset).`
  const reset = spent.micros + spent.tokens > 0 ? ', or reset the counters (svc budget reset)' : ''
  const raise = awaitsRestart ? 'Restart to apply the changed limit (svc restart)' : 'Raise a limit'
  if (tight) return `Tight: ${used} spent; ${tight}. ${raise}${reset}.`
  return `${used} spent.`
}

/** Formats amounts against the limits that are set: `$1.20 of $5.00 and 300 of 1,000 tokens`. */
export function usage(used: Limits, limits: Limits): string {
  return [
    limits.micros > 0 && `${dollars(used.micros)} of ${dollars(limits.micros)}`,
    limits.tokens > 0 && `${formatCount(used.tokens)} of ${formatCount(limits.tokens)} tokens`,
  ]
    .filter(Boolean)
    .join(' and ')
}

function amounts({ micros, tokens }: Limits): string | undefined {
  if (micros > 0) return dollars(micros)
  return tokens > 0 ? `${formatCount(tokens)} tokens` : undefined
}

/** Formats micro-dollars as dollars with two to six decimals. */
export function dollars(micros: number): string {
  return `$${usdOf(micros).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 })}`
}

function toUsdAndTokens({ micros, tokens }: Limits) {
  return { usd: usdOf(micros), tokens }
}

function usdOrNull(micros: number | null): number | null {
  return micros === null ? null : usdOf(micros)
}
