import { type ModelFacts, Models } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import type { DoctorFinding } from '#lib/doctor-check'
import { Approvals } from '#safety/approvals/contract'
import { type BudgetConfig, microsOf } from './config.ts'
import type { BudgetWarning } from './contract.ts'
import { dollars } from './status.ts'
import { priceRemedy } from './unknown-price.ts'

/** Returns warnings about model prices that weaken the dollar limit; empty when no limit is set. */
export async function budgetWarnings(svc: PluginHandle, config: BudgetConfig): Promise<BudgetWarning[]> {
  return config.budget_usd === 0 ? [] : warningsOf(svc, config, await svc.use(Models).inUse())
}

/** Returns whether all models in use are free; false when that is unknown. */
export async function areFree(svc: PluginHandle): Promise<boolean> {
  const used = await svc
    .use(Models)
    .inUse()
    .catch(() => undefined)
  return used?.every(({ price }) => price === 'free') ?? false
}

/** Returns the `svc doctor` finding about the prices of the models in use. */
export async function pricesFinding(svc: PluginHandle, config: BudgetConfig): Promise<DoctorFinding> {
  const used = await svc.use(Models).inUse()
  if (config.budget_usd > 0) {
    const [warning] = warningsOf(svc, config, used)
    if (warning) return { level: 'warn', message: warning.message, remedy: warning.remedy }
  }
  const unknown = used.find(({ price }) => price === 'unknown')
  if (unknown) {
    const message = `The price of ${unknown.model} is unknown: the cost of its calls is not counted`
    return { level: 'warn', message, remedy: priceRemedy(unknown.model) }
  }
  return { level: 'ok', message: used.map(describePrice).join('; ') || 'no model is in use', remedy: null }
}

function warningsOf(svc: PluginHandle, config: BudgetConfig, used: readonly ModelFacts[]): BudgetWarning[] {
  const unknown = used.filter(({ price }) => price === 'unknown').map(({ model }) => model)
  if (unknown.length > 0) return [unknownPriceWarning(svc, config, unknown)]
  const costs = used.some(({ price }) => typeof price === 'object' && price.input + price.output > 0)
  return costs || used.length === 0 ? [] : [neverReached(config, used)]
}

function unknownPriceWarning(svc: PluginHandle, config: BudgetConfig, models: readonly string[]): BudgetWarning {
  const needsApproval = svc.has(Approvals) && svc.config.get('approval.enabled') === true
  const fate =
    config.budget_unknown_price === 'refuse'
      ? 'calls are refused (daemon.budget_unknown_price: refuse)'
      : needsApproval
        ? 'calls wait for an approval (daemon.budget_unknown_price: approve; svc approvals)'
        : 'calls are refused: daemon.budget_unknown_price is approve, but approval.enabled is false'
  return {
    code: 'unknown_price',
    message: `daemon.budget_usd is set and the price of ${models.join(', ')} is unknown: ${fate}`,
    remedy: priceRemedy(models[0]!),
  }
}

function neverReached({ budget_usd }: BudgetConfig, used: readonly ModelFacts[]): BudgetWarning {
  const served = used.find(({ model }) => !model.startsWith('sim/'))
  return {
    code: 'limit_never_reached',
    message: `daemon.budget_usd is ${dollars(microsOf(budget_usd))}, but no model in use has a price, so the limit is never reached: ${used.map(describePrice).join('; ')}`,
    remedy: served
      ? `if the model server forwards calls to a provider that charges for them, ${priceRemedy(served.model)}; daemon.budget_tokens limits tokens in any case`
      : 'choose a model with a price, or limit tokens with daemon.budget_tokens',
  }
}

function describePrice({ model, price, free_because }: ModelFacts): string {
  if (price === 'free') return `${model} is free (${free_because})`
  return price === 'unknown' ? `${model} has no known price` : `${model} costs ${price.input}, ${price.output}`
}
