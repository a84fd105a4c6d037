import type { PlannedSpend } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { Approvals, MODEL_CALL } from '#safety/approvals/contract'
import type { BudgetConfig } from './config.ts'
import { UnknownPriceError } from './contract.ts'
import type { TotalLimit } from './repository.ts'

/** The entry of `models.yaml` that makes the price of a model known, in words. */
export function priceRemedy(model: string): string {
  return `write it into models.yaml, in USD per million tokens: prices: { "${model}": { input: <USD>, output: <USD> } }`
}

/**
 * Keeps a call to a model of unknown price from being made while a dollar limit holds for it, or has a person asked about the
 * model, as `daemon.budget_unknown_price` says.
 * @throws UnknownPriceError with what to do
 */
export async function admitUnknownPrice(
  svc: PluginHandle,
  config: BudgetConfig,
  call: PlannedSpend,
  totals: readonly TotalLimit[],
): Promise<void> {
  if (call.priced !== 'unknown') return
  const limit = limitOn(config, call, totals)
  if (!limit) return
  const { model, purpose } = call
  const why =
    config.budget_unknown_price === 'refuse'
      ? `so its calls are refused while ${limit} is set (daemon.budget_unknown_price: refuse)`
      : await unknownPriceReason(svc, model, purpose.agent_id)
  if (why) throw new UnknownPriceError({ model, why, remedy: priceRemedy(model) })
}

/** The dollar limit that the call would evade; undefined where there is none. */
function limitOn(
  { budget_usd }: BudgetConfig,
  { purpose }: PlannedSpend,
  [total]: readonly TotalLimit[],
): string | undefined {
  if (budget_usd > 0) return 'daemon.budget_usd'
  if ((purpose.max_cost_usd ?? 0) > 0) return "its profile's max_cost_usd"
  if (!total) return undefined
  return total.agent_id === purpose.agent_id
    ? "its profile's max_total_cost_usd"
    : `max_total_cost_usd of ${total.agent_id}`
}

/** Why calls to the model may not be made now; undefined when a person let them pass. */
async function unknownPriceReason(
  svc: PluginHandle,
  model: string,
  agent_id: string | null,
): Promise<string | undefined> {
  if (!svc.has(Approvals)) return 'and approvals are not available, so its calls are refused'
  const answer = await svc.use(Approvals).permit({
    ...{ agent_id, name: MODEL_CALL, arguments: { model } },
    danger: 'its price is unknown: what it costs does not count against the dollar limit',
  })
  switch (answer.state) {
    case 'granted':
      return undefined
    case 'pending':
      return `and its calls wait for a decision on ${answer.approval_id} (svc approve ${answer.approval_id})`
    case 'denied':
      return `and its calls were denied by ${answer.by}${answer.reason ? ` (${answer.reason})` : ''}`
    case 'unasked':
      return 'and this call is made for no agent of the project that an approval could be asked for, so it is refused'
    case 'off':
      return 'and approvals are off (approval.enabled: false), so its calls are refused'
  }
}
