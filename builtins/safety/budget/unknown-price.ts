import type { PlannedSpend } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { Approvals, MODEL_CALL } from '#safety/approvals/contract'
import type { BudgetConfig } from './config.ts'
import { UnknownPriceError } from './contract.ts'
import type { TotalLimit } from './repository.ts'

/** Returns the remedy for an unknown price: the entry for `models.yaml`. */
export function priceRemedy(model: string): string {
  return `add the price to models.yaml, in USD per million tokens: prices: { "${model}": { input: <USD>, output: <USD> } }`
}

/**
 * Refuses calls to a model of unknown price while a dollar limit applies, or asks for approval of the model, as set by
 * `daemon.budget_unknown_price`.
 * @throws UnknownPriceError with the remedy
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

/** Returns the dollar limit that the call would bypass; undefined when there is none. */
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

/** Returns why calls to the model are refused now; undefined when an operator has allowed them. */
async function unknownPriceReason(
  svc: PluginHandle,
  model: string,
  agent_id: string | null,
): Promise<string | undefined> {
  if (!svc.has(Approvals)) return 'and approvals are not available, so its calls are refused'
  const answer = await svc.use(Approvals).permit({
    agent_id,
    name: MODEL_CALL,
    arguments: { model },
    danger: 'its price is unknown: its cost does not count against the dollar limit',
  })
  switch (answer.state) {
    case 'granted':
      return undefined
    case 'pending':
      return `and its calls wait for a decision on ${answer.approval_id} (svc approve ${answer.approval_id})`
    case 'denied':
      return `and its calls were denied by ${answer.by}${answer.reason ? ` (${answer.reason})` : ''}`
    case 'unasked':
      return 'and this call belongs to no agent of the project, so no approval can be requested and the call is refused'
    case 'off':
      return 'and approvals are off (approval.enabled: false), so its calls are refused'
  }
}
