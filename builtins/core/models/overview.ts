import { z } from '#kernel'
import { GovernorState } from './call/governor.ts'
import { STALE_DAYS, TIERS } from './catalogue/catalogue.ts'
import { LearnedModel } from './learned/contract.ts'
import { ModelParameters } from './parameters/contract.ts'

const ProviderState = z.object({
  name: z.string(),
  available: z.boolean(),
  reason: z
    .string()
    .nullable()
    .describe('Why the provider is unavailable, or not known to be available, and what to do'),
  notice: z.string().nullable().describe('Notice shown beside the models of the provider'),
  free: z.boolean().describe('Whether calls of its models are free, except those with a price in models.yaml'),
  free_because: z.string().nullable().describe('Why the provider is free'),
  tiers: z.partialRecord(z.enum(TIERS), z.string()),
  models: z.array(z.string()).nullable().describe('Models that the server lists; null if unknown'),
  traffic: GovernorState.describe('Calls from the process that answers this request to the provider'),
})

const limits = {
  context_window: z.int().nullable().describe('Maximum number of input and output tokens together; null if unknown'),
  max_output_tokens: z.int().nullable().describe('Maximum number of tokens of one answer; null if unknown'),
}
const usd = z.number().nullable()

const ModelInUse = z.object({
  model: z.string(),
  priced: z
    .enum(['catalogue', 'free', 'unknown'])
    .describe(
      '`catalogue`: the price is known and listed under `prices`; `free`: the model costs nothing, see `free_because`; `unknown`: the model is not free, but its price is not known',
    ),
  free_because: z.string().nullable().describe('Why the model is free'),
  ...limits,
  parameters: ModelParameters.describe('Parameters of calls for which profile and task set none'),
})

const Listed = z.object({
  model: z.string(),
  input: z.number(),
  output: z.number(),
  cached_input: usd,
  cache_write: usd,
  long_prompt: z
    .object({
      above: z.int(),
      input: z.number(),
      output: z.number(),
      cached_input: usd,
      cache_write: usd,
    })
    .nullable()
    .describe('Price of requests whose input has more tokens than `above`'),
  ...limits,
  as_of: z.string().nullable().describe('Date of the source: year-month, or year-month-day'),
  source: z.string().nullable().describe('URL of the source'),
  verified: z
    .boolean()
    .describe('Whether the price was compared with the price list of its provider, or set by the project'),
  configured: z
    .boolean()
    .describe('Whether the price is from models.yaml of the project and applies wherever the provider runs'),
  stale: z.boolean().describe(`Whether the price is more than ${STALE_DAYS} days old`),
})

/** Returns the overview of models for operators: availability, prices and state. */
export const ModelsOverview = z.object({
  default: z
    .object({ model: z.string(), provider: z.string(), notice: z.string().nullable() })
    .nullable()
    .describe('Model of agents that name none'),
  error: z.string().nullable().describe('Why there is no default model'),
  in_use: z.array(ModelInUse).describe('Models that the configuration, profiles and living agents name'),
  unknown_price: z
    .enum(['refuse', 'approve'])
    .nullable()
    .describe('How to treat calls to a model of unknown price; null: they run, because there is no dollar limit'),
  learned: z.array(LearnedModel).describe('Facts about models, learned from refusals; models.forget removes them'),
  providers: z.array(ProviderState),
  listed: z.enum(['all', 'stale']).describe('Which entries of the catalogue `prices` contains'),
  prices: z.array(Listed).describe('USD per million tokens'),
})
export type ModelsOverview = z.output<typeof ModelsOverview>
