import { columns } from '#kernel'
import { TIERS } from './catalogue.ts'
import type { ModelsOverview } from './overview.ts'

type Provider = ModelsOverview['providers'][number]
type Row = readonly [provider: string, model: string, tier: string, price: string, breaker: string, state: string]

const HEAD: Row = ['PROVIDER', 'MODEL', 'TIER', 'USD/M IN, OUT', 'BREAKER', 'STATE']

/** Providers and models as a table for people. */
export function renderModels(overview: ModelsOverview): string {
  const { default: chosen, error, providers, default_price } = overview
  const notice = chosen?.notice ? ` (${chosen.notice})` : ''
  const shown = new Set<string>()
  const rows = providers.flatMap(provider => rowsOf(provider, overview, shown))
  const others = overview.prices.filter(({ model }) => !shown.has(model))
  const marks = [
    '* not compared with the price list of its provider',
    `? no known price: counted at ${default_price.input}, ${default_price.output}`,
  ].filter(
    mark => rows.some(row => row[3].endsWith(mark[0]!)) || others.some(price => figures(price).endsWith(mark[0]!)),
  )
  return [
    chosen ? `Default: ${chosen.model}${notice}` : `No default model: ${error}`,
    '',
    ...columns([HEAD, ...rows]),
    ...(others.length > 0 ? ['', 'Other prices:'] : []),
    ...others.map(price => `  ${price.model}  ${figures(price)}`),
    ...(marks.length > 0 ? ['', ...marks] : []),
  ].join('\n')
}

/** One for each tier, or one for a provider that cannot be called or has no tiers. What is said of a provider stands once. */
function rowsOf(provider: Provider, overview: ModelsOverview, shown: Set<string>): Row[] {
  const { name, available, tiers } = provider
  const named = TIERS.flatMap(tier => (tiers[tier] ? [[tier, tiers[tier]] as const] : []))
  if (!available || named.length === 0) return [[name, '', '', '', breakerOf(provider), stateOf(provider)]]
  return named.map(([tier, model], n) => {
    shown.add(`${name}:${model}`)
    const price = priceOf(provider, `${name}:${model}`, overview)
    return n === 0
      ? [name, model, tier, price, breakerOf(provider), stateOf(provider)]
      : ['', model, tier, price, '', '']
  })
}

function priceOf({ free }: Provider, id: string, { prices, default_price }: ModelsOverview): string {
  if (free) return 'free'
  const price = prices.find(({ model }) => model === id)
  if (!price) return `${default_price.input}, ${default_price.output} ?`
  return figures(price)
}

function figures({ input, output, verified }: ModelsOverview['prices'][number]): string {
  return `${input}, ${output}${verified ? '' : ' *'}`
}

function breakerOf({ traffic }: Provider): string {
  return traffic.breaker.replace('_', '-')
}

function stateOf({ available, reason, notice, traffic }: Provider): string {
  if (!available) return reason ?? 'not available'
  const { breaker, failures, last_failure, retry_in_ms, backing_off_ms } = traffic
  if (breaker !== 'closed') {
    const next = retry_in_ms === null ? 'is tried next' : `tried again in ${seconds(retry_in_ms)}`
    return `${failures} failures in a row, ${next}: ${last_failure}`
  }
  if (backing_off_ms > 0) return `left in peace for ${seconds(backing_off_ms)}: ${last_failure}`
  return notice ?? reason ?? 'ready'
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
