import { z } from '#kernel'
import { TIERS } from './catalogue.ts'

const Traffic = z.object({
  breaker: z
    .enum(['closed', 'open', 'half_open'])
    .describe('`open`: left alone after failures; `half_open`: the next attempt tries it'),
  failures: z.number().int().describe('Attempts that failed in a row'),
  last_failure: z.string().nullable(),
  retry_in_ms: z.number().int().nullable().describe('Until an open breaker lets somebody try'),
  backing_off_ms: z.number().int().describe('Until it may be asked again, having said that it has too much to do'),
  in_flight: z.number().int(),
  waiting: z.number().int(),
  max_concurrent: z.number().int().describe('0 sets no limit'),
})

const ProviderState = z.object({
  name: z.string(),
  available: z.boolean(),
  reason: z.string().nullable().describe('Why it is not available, or not known to be, and what to do'),
  notice: z.string().nullable().describe('Said wherever its models are shown'),
  free: z.boolean().describe('Its calls cost nothing'),
  tiers: z.partialRecord(z.enum(TIERS), z.string()),
  traffic: Traffic.describe('Between the process that answers and the provider'),
})

/** All that an operator wants to know of models: whom agents can ask, at what price, and how they fare. */
export const ModelsOverview = z.object({
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
        verified: z.boolean().describe('Compared with the price list of its provider, or given by the project'),
      }),
    )
    .describe('USD per million tokens'),
  default_price: z
    .object({ input: z.number(), output: z.number() })
    .describe('What a model without a known price counts at'),
})
export type ModelsOverview = z.output<typeof ModelsOverview>
