import { z } from '#kernel'
import { STALE_DAYS, TIERS } from './catalogue/catalogue.ts'
import { LearnedModel } from './learned/contract.ts'
import { ModelParameters } from './parameters/contract.ts'

const Traffic = z.object({
  breaker: z
    .enum(['closed', 'open', 'half_open'])
    .describe('`open`: left alone after failures; `half_open`: the next attempt tries it'),
  failures: z.number().int().describe('Attempts that failed in a row'),
  last_failure: z.string().nullable(),
  retry_in_ms: z.number().int().nullable().describe('Milliseconds until an open breaker lets a call through'),
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
  free: z.boolean().describe('Calls of its models cost nothing, but for those with a price in models.yaml'),
  free_because: z.string().nullable().describe('Why that is so'),
  tiers: z.partialRecord(z.enum(TIERS), z.string()),
  traffic: Traffic.describe('Between the process that answers and the provider'),
})

const limits = {
  context_window: z.number().int().nullable().describe('Tokens of input and output together; null: unknown'),
  max_output_tokens: z.number().int().nullable().describe('Tokens that one answer may have; null: unknown'),
}
const usd = z.number().nullable()

const ModelInUse = z.object({
  model: z.string(),
  priced: z
    .enum(['catalogue', 'free', 'unknown'])
    .describe('`catalogue`: its price is known, and stands under `prices`; `unknown`: it costs something'),
  free_because: z.string().nullable().describe('Why it is free'),
  ...limits,
  parameters: ModelParameters.describe('How it answers where profile and task say nothing'),
})

const Listed = z.object({
  model: z.string(),
  ...{ input: z.number(), output: z.number(), cached_input: usd, cache_write: usd },
  long_prompt: z
    .object({
      above: z.number().int(),
      ...{ input: z.number(), output: z.number(), cached_input: usd, cache_write: usd },
    })
    .nullable()
    .describe('What requests cost whose input has more tokens than `above`'),
  ...limits,
  as_of: z.string().nullable().describe('Date of the source: year-month, or year-month-day'),
  source: z.string().nullable().describe('The page that says so'),
  verified: z.boolean().describe('Compared with the price list of its provider, or given by the project'),
  configured: z.boolean().describe('From models.yaml of the project: counts wherever the provider runs'),
  stale: z.boolean().describe(`Its date is more than ${STALE_DAYS} days ago`),
})

/** Returns the overview of models for operators: availability, prices and state. */
export const ModelsOverview = z.object({
  default: z
    .object({ model: z.string(), provider: z.string(), notice: z.string().nullable() })
    .nullable()
    .describe('What an agent without a model of its own uses'),
  error: z.string().nullable().describe('Why there is no default'),
  in_use: z.array(ModelInUse).describe('The models that the configuration, profiles and living agents name'),
  unknown_price: z
    .enum(['refuse', 'approve'])
    .nullable()
    .describe('What becomes of calls to models of unknown price; null: there is no dollar limit, so they run'),
  learned: z.array(LearnedModel).describe('What refusals taught of models; models.forget forgets it'),
  providers: z.array(ProviderState),
  listed: z.enum(['all', 'stale']).describe('Which entries of the catalogue stand under `prices`'),
  prices: z.array(Listed).describe('USD per million tokens'),
})
export type ModelsOverview = z.output<typeof ModelsOverview>
