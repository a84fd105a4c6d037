import { type Operation, operation, sentenceOf, z } from '#kernel'
import { type Catalogue, DEFAULT_PRICE, TIERS } from './catalogue.ts'
import type { ModelProvider } from './contract.ts'
import type { Target } from './names.ts'

const ProviderState = z.object({
  name: z.string(),
  available: z.boolean(),
  reason: z.string().nullable().describe('Why it is not available, and what to do'),
  notice: z.string().nullable().describe('Said wherever its models are shown'),
  free: z.boolean().describe('Its calls cost nothing'),
  tiers: z.partialRecord(z.enum(TIERS), z.string()),
})

const ModelsOverview = z.object({
  default: z
    .object({ model: z.string(), provider: z.string(), notice: z.string().nullable() })
    .nullable()
    .describe('What an agent without a model of its own uses'),
  error: z.string().nullable().describe('Why there is no default'),
  providers: z.array(ProviderState),
  prices: z
    .array(
      z.object({
        model: z.string(),
        input: z.number(),
        output: z.number(),
        cached_input: z.number().nullable(),
        cache_write: z.number().nullable(),
        as_of: z.string().nullable(),
      }),
    )
    .describe('USD per million tokens'),
  default_price: z
    .object({ input: z.number(), output: z.number() })
    .describe('What a model without a known price counts at'),
})

export interface ModelsView {
  providers(): readonly ModelProvider[]
  catalogue(): Promise<Catalogue>
  resolveDefault(): Promise<Target>
}

/** What an operator can ask about models. */
export function modelsList(view: ModelsView): Operation {
  return operation({
    name: 'models.list',
    summary: 'Providers, their tiers and prices, and the default model',
    input: z.strictObject({}),
    output: ModelsOverview,
    http: { method: 'GET', path: '/models' },
    cli: { usage: 'models' },
    mcp: true,
    render,
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
        })),
      ])
      return {
        ...found,
        providers,
        prices: Object.entries(prices).map(([model, price]) => {
          const { input, output, cached_input = null, cache_write = null, as_of = null } = price
          return { model, input, output, cached_input, cache_write, as_of }
        }),
        default_price: { input: DEFAULT_PRICE.input, output: DEFAULT_PRICE.output },
      }
    },
  })
}

function render({ default: chosen, error, providers, prices, default_price }: z.output<typeof ModelsOverview>): string {
  const lines = [
    chosen ? `Default: ${chosen.model}${chosen.notice ? ` (${chosen.notice})` : ''}` : `No default model: ${error}`,
    '',
  ]
  const width = Math.max(...providers.map(({ name }) => name.length))
  for (const { name, available, reason, notice, tiers } of providers) {
    lines.push(`${available ? '+' : '-'} ${name.padEnd(width)}  ${available ? (notice ?? 'ready') : reason}`)
    const named = TIERS.flatMap(tier => (tiers[tier] ? [`${tier} ${tiers[tier]}`] : []))
    if (available && named.length > 0) lines.push(`${' '.repeat(width + 4)}${named.join(', ')}`)
  }
  lines.push('', 'USD per million tokens: input / output')
  const wide = Math.max(...prices.map(({ model }) => model.length))
  for (const { model, input, output } of prices) lines.push(`  ${model.padEnd(wide)}  ${input} / ${output}`)
  lines.push(`  ${'any other'.padEnd(wide)}  ${default_price.input} / ${default_price.output}`)
  return lines.join('\n')
}
