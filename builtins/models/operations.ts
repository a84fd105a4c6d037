import { type Operation, operation, sentenceOf, z } from '#kernel'
import { type Catalogue, DEFAULT_PRICE } from './catalogue.ts'
import type { ModelProvider } from './contract.ts'
import type { Governor } from './governor.ts'
import type { Target } from './names.ts'
import { ModelsOverview } from './overview.ts'
import { renderModels } from './render.ts'

export interface ModelsView {
  providers(): readonly ModelProvider[]
  catalogue(): Promise<Catalogue>
  governorOf(provider: string): Governor
  resolveDefault(): Promise<Target>
}

/** What an operator can ask about models. */
export function modelsList(view: ModelsView): Operation {
  return operation({
    name: 'models.list',
    summary: 'Providers, their tiers and prices, how they fare, and the default model',
    input: z.strictObject({}),
    output: ModelsOverview,
    http: { method: 'GET', path: '/models' },
    cli: { usage: 'models' },
    mcp: true,
    render: renderModels,
    async run() {
      const { tiers, prices } = await view.catalogue()
      const [found, ...providers] = await Promise.all([
        view.resolveDefault().then(
          ({ id, provider }) => ({
            default: { model: id, provider: provider.name, notice: provider.notice ?? null },
            error: null,
          }),
          error => ({ default: null, error: sentenceOf(error) }),
        ),
        ...view.providers().map(async provider => ({
          name: provider.name,
          ...(await provider.availability()),
          notice: provider.notice ?? null,
          free: provider.free ?? false,
          tiers: tiers[provider.name] ?? {},
          traffic: view.governorOf(provider.name).state(),
        })),
      ])
      return {
        ...found,
        providers,
        prices: Object.entries(prices).map(([model, price]) => {
          const { input, output, cached_input = null, cache_write = null, as_of = null, unverified = false } = price
          return { model, input, output, cached_input, cache_write, as_of, verified: !unverified }
        }),
        default_price: { input: DEFAULT_PRICE.input, output: DEFAULT_PRICE.output },
      }
    },
  })
}
