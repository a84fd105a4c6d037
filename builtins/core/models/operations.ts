import { errorMessage, operation, token, z } from '#kernel'
import type { Governor } from './call/governor.ts'
import { priceStateOf } from './call/spend.ts'
import { isStale, type Price, type ProjectCatalogue, STALE_DAYS } from './catalogue/catalogue.ts'
import type { Target } from './catalogue/names.ts'
import type { ModelFacts, ModelProvider } from './contract.ts'
import type { LearnedModel } from './learned/contract.ts'
import { ModelsOverview } from './overview.ts'
import { renderModels } from './render.ts'

export interface ModelsView {
  providers(): readonly ModelProvider[]
  catalogue(): Promise<ProjectCatalogue>
  governorOf(provider: string): Governor
  resolveDefault(): Promise<Target>
  inUse(): Promise<ModelFacts[]>
  /** Returns how calls to models of unknown price are handled; null where no dollar limit is set. */
  unknownPrice(): ModelsOverview['unknown_price']
  learned(): Promise<LearnedModel[]>
  /** Milliseconds since 1970. */
  now(): number
}
export const ModelsView = token<ModelsView>('models/view')

export const modelsList = operation({
  name: 'models.list',
  summary: 'List model providers, tiers and prices',
  description: "Includes prices, context windows, the default model, and the state of each provider's circuit breaker.",
  input: z.strictObject({
    stale: z.boolean().default(false).describe(`List only prices that are more than ${STALE_DAYS} days old`),
  }),
  output: ModelsOverview,
  http: { method: 'GET', path: '/models' },
  cli: { usage: 'models' },
  mcp: true,
  render: renderModels,
  async run({ stale }, { svc }) {
    const view = svc.use(ModelsView)
    const catalogue = await view.catalogue()
    const [found, in_use, ...providers] = await Promise.all([
      view.resolveDefault().then(
        ({ id, provider }) => ({
          default: { model: id, provider: provider.name, notice: provider.notice ?? null },
          error: null,
        }),
        error => ({ default: null, error: errorMessage(error) }),
      ),
      view.inUse(),
      ...view.providers().map(async provider => ({
        name: provider.name,
        ...(await provider.availability()),
        notice: provider.notice ?? null,
        free: provider.free ?? false,
        free_because: provider.free ? (provider.free_because ?? null) : null,
        tiers: catalogue.tiers[provider.name] ?? {},
        models: await modelsOf(provider),
        traffic: view.governorOf(provider.name).state(),
      })),
    ])
    const prices = Object.entries(catalogue.prices).map(([model, price]) =>
      modelView(model, price, catalogue, view.now()),
    )
    return {
      ...found,
      in_use: in_use.map(({ price, ...facts }) => ({
        ...facts,
        priced: priceStateOf(price === 'unknown' ? undefined : price),
      })),
      unknown_price: view.unknownPrice(),
      learned: await view.learned(),
      providers,
      listed: stale ? ('stale' as const) : ('all' as const),
      prices: stale ? prices.filter(price => price.stale) : prices,
    }
  },
})

async function modelsOf(provider: ModelProvider): Promise<string[] | null> {
  const models = await provider.listModels?.().catch(() => null)
  return models ? [...models] : null
}

function modelView(model: string, price: Price, { models, configured }: ProjectCatalogue, now: number) {
  const { input, output, cached_input = null, cache_write = null, long_prompt, as_of, source } = price
  const { context_window = null, max_output_tokens = null } = models[model] ?? {}
  return {
    model,
    input,
    output,
    cached_input,
    cache_write,
    context_window,
    max_output_tokens,
    long_prompt: long_prompt
      ? { ...long_prompt, cached_input: long_prompt.cached_input ?? null, cache_write: long_prompt.cache_write ?? null }
      : null,
    as_of: as_of ?? null,
    source: source ?? null,
    verified: !price.unverified,
    configured: configured.has(model),
    stale: isStale(as_of, now),
  }
}
