import { columns } from '#lib/columns'
import { formatCount } from '#lib/format-count'
import { pluralize } from '#lib/pluralize'
import { STALE_DAYS, TIERS } from './catalogue/catalogue.ts'
import { learnedLine } from './learned/operations.ts'
import type { ModelsOverview } from './overview.ts'
import { parametersLine } from './parameters/contract.ts'

type Provider = ModelsOverview['providers'][number]
type Listed = ModelsOverview['prices'][number]
type Row = readonly [provider: string, model: string, tier: string, price: string, breaker: string, state: string]

const HEAD: Row = ['PROVIDER', 'MODEL', 'TIER', 'USD/M IN, OUT', 'BREAKER', 'STATE']
const ENTRY = ['MODEL', 'IN', 'CACHED', 'OUT', 'CONTEXT', 'OUTPUT', 'PRICE DATE']

/** Formats providers and models as tables; if requested, only the outdated part of the catalogue. */
export function renderModels(overview: ModelsOverview): string {
  const { prices } = overview
  if (overview.listed === 'stale') return renderStale(prices)
  const { default: chosen, error, learned, providers } = overview
  const notice = chosen?.notice ? ` (${chosen.notice})` : ''
  const rows = providers.flatMap(provider => rowsOf(provider, overview))
  const marks = [
    prices.some(({ verified }) => !verified) && '* price not verified against the price list of its provider',
    prices.some(({ long_prompt }) => long_prompt) &&
      '+ higher price for long inputs; svc models --json shows from what length',
    rows.some(row => row[3].includes('unknown')) && `unknown: ${describeUnknownPrice(overview)}`,
  ].filter(mark => mark !== false)
  return [
    chosen ? `Default: ${chosen.model}${notice}` : `No default model: ${error}`,
    ...usedLines(overview),
    ...learned.map(each => `Learned from refusals: ${learnedLine(each)} (svc models forget ${each.model})`),
    '',
    ...columns([HEAD, ...rows]),
    ...(prices.length > 0 ? ['', 'Catalogue, in USD per million tokens:', ...entries(prices)] : []),
    ...(marks.length > 0 ? ['', ...marks] : []),
  ].join('\n')
}

function renderStale(prices: readonly Listed[]): string {
  if (prices.length === 0) return `no price is older than ${STALE_DAYS} days`
  const rows = prices.map(entry => [...entryOf(entry), entry.source ?? ''])
  return [
    `${pluralize(prices.length, 'price')} older than ${STALE_DAYS} days; update them in models.yaml:`,
    ...columns([[...ENTRY, 'SOURCE'], ...rows]),
  ].join('\n')
}

/** Returns lines on the models in use that are free or have no known price, and on their parameters. */
function usedLines(overview: ModelsOverview): string[] {
  return overview.in_use.flatMap(({ model, priced, free_because, parameters }) => {
    const answers = parametersLine(parameters)
    return [
      ...(priced === 'unknown' ? [`In use: ${model}, whose price is unknown: ${describeUnknownPrice(overview)}`] : []),
      ...(priced === 'free' ? [`In use: ${model}, which is free: ${free_because}`] : []),
      ...(answers ? [`In use: ${model}, with ${answers}`] : []),
    ]
  })
}

/** Explains how calls to models without a known price are handled, and what to do about it. */
function describeUnknownPrice({ unknown_price }: ModelsOverview): string {
  if (unknown_price === null) return 'its cost is not counted; add its price to models.yaml'
  return unknown_price === 'refuse'
    ? 'its calls are refused while there is a dollar limit (daemon.budget_unknown_price); add its price to models.yaml'
    : 'its calls need an approval while there is a dollar limit (daemon.budget_unknown_price), unless models.yaml has its price'
}

function entries(prices: readonly Listed[]): string[] {
  return columns([ENTRY, ...prices.map(entryOf)])
}

function entryOf(price: Listed): string[] {
  const { model, input, output, cached_input, context_window, max_output_tokens, as_of } = price
  const marks = `${price.long_prompt ? ' +' : ''}${price.verified ? '' : ' *'}`
  return [
    `${model}${marks}`,
    ...[input, cached_input, output].map(value => String(value ?? '–')),
    ...[context_window, max_output_tokens].map(tokens => (tokens == null ? '–' : formatCount(tokens))),
    price.configured && as_of === null ? 'models.yaml' : (as_of ?? '–'),
  ]
}

/** Maximum number of rows for the models that a server lists. */
const LISTED_MOST = 20

/**
 * Returns a row for each model that the server lists, otherwise for each tier, or one row for a provider that is
 * unavailable or has neither. Provider details appear only once.
 */
function rowsOf(provider: Provider, overview: ModelsOverview): Row[] {
  const { name, available, tiers, models } = provider
  const tiersOf = (model: string) => TIERS.filter(tier => [tiers[tier], `${tiers[tier]}:latest`].includes(model))
  const served = models?.slice(0, LISTED_MOST).map(model => [tiersOf(model).join(', '), model] as const)
  const named = served?.length ? served : TIERS.flatMap(tier => (tiers[tier] ? [[tier, tiers[tier]] as const] : []))
  if (!available || named.length === 0) return [[name, '', '', '', breakerOf(provider), stateOf(provider)]]
  const more = (models?.length ?? 0) - LISTED_MOST
  return [
    ...named.map(([tier, model], n): Row => {
      const price = priceOf(provider, `${name}:${model}`, overview)
      return n === 0
        ? [name, model, tier, price, breakerOf(provider), stateOf(provider)]
        : ['', model, tier, price, '', '']
    }),
    ...(more > 0 ? [['', `and ${more} more`, '', '', '', ''] satisfies Row] : []),
  ]
}

function priceOf({ free }: Provider, id: string, { prices }: ModelsOverview): string {
  const price = prices.find(({ model }) => model === id)
  if (free && !price?.configured) return 'free'
  return price ? `${price.input}, ${price.output}${price.verified ? '' : ' *'}` : 'unknown'
}

function breakerOf({ traffic }: Provider): string {
  return traffic.breaker.replace('_', '-')
}

function stateOf({ available, reason, notice, free_because, traffic }: Provider): string {
  if (!available) return reason ?? 'not available'
  const { breaker, failures, last_failure, retry_in_ms, backing_off_ms } = traffic
  if (breaker !== 'closed') {
    const next = retry_in_ms === null ? 'the next call is a trial' : `next attempt in ${seconds(retry_in_ms)}`
    return `${failures} failures in a row, ${next}: ${last_failure}`
  }
  if (backing_off_ms > 0) return `no calls for ${seconds(backing_off_ms)}: ${last_failure}`
  if (last_failure) return `the last call failed: ${last_failure}`
  const free = free_because && free_because !== notice ? `free: ${free_because}` : undefined
  return notice ?? reason ?? free ?? 'ready'
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
