import { z } from '#kernel'
import { type ModelFacts, type ModelProvider, ToolCalls } from '../contract.ts'
import { ModelParameters, mergeParameters } from '../parameters/contract.ts'
import { LISTED } from './listed.ts'

export const TIERS = ['lite', 'standard', 'pro'] as const
export type Tier = (typeof TIERS)[number]

/** Age from which `svc models --stale` lists a price, in days. */
export const STALE_DAYS = 90
const DAY_MS = 86_400_000

const usd = z.number().min(0).max(100_000)
const tokens = z.int().min(1).max(1_000_000_000)

const RATES = { input: usd, output: usd, cached_input: usd.optional(), cache_write: usd.optional() }
const CATALOGUED = {
  as_of: z
    .string()
    .regex(/^\d{4}-(0[1-9]|1[0-2])(-\d{2})?$/, 'must be a date such as 2026-11-24, or a month such as 2026-11')
    .optional()
    .describe('Date of the source: year-month, or year-month-day'),
  source: z
    .url({ protocol: /^https?$/ })
    .max(500)
    .optional()
    .describe('URL of the source'),
}

/**
 * USD per million tokens, which is micro-dollars per token. Input that is read from the provider's cache (`cached_input`) or
 * written to it (`cache_write`) costs as much as other input where that isn't given.
 */
export const Price = z.strictObject({
  ...RATES,
  long_prompt: z
    .strictObject({ above: tokens, ...RATES })
    .optional()
    .describe('Price of all tokens of a request whose input has more tokens than `above`'),
  ...CATALOGUED,
  unverified: z.boolean().optional().describe('Whether the price was not compared with the price list of its provider'),
})
export type Price = z.infer<typeof Price>

/** Token limits of a model, and whether it sees images. */
export const ModelLimits = z.strictObject({
  context_window: tokens.optional().describe('Maximum number of input and output tokens together'),
  max_output_tokens: tokens.optional().describe('Maximum number of tokens of one answer'),
  vision: z.boolean().optional().describe('Whether the model accepts images'),
  ...CATALOGUED,
})
export type ModelLimits = z.infer<typeof ModelLimits>

const Name = z.string().regex(/^[^:\s]+:\S+$/, 'must be written provider:model')

/**
 * Models of the providers' tiers, and prices, limits, ways of calling tools and parameters by `provider:model`.
 * Parameters may also be given by `provider:tier`.
 */
export const Catalogue = z.strictObject({
  tiers: z.record(z.string(), z.partialRecord(z.enum(TIERS), z.string().min(1).max(200))).default({}),
  prices: z.record(Name, Price).default({}),
  models: z.record(Name, ModelLimits).default({}),
  tool_calls: z.record(Name, ToolCalls).default({}),
  parameters: z.record(Name, ModelParameters).default({}),
})
export type Catalogue = z.infer<typeof Catalogue>

/** The shipped catalogue with the project's `models.yaml` over it. */
export interface ProjectCatalogue extends Catalogue {
  /** Names of the models with a price in `models.yaml`: it applies wherever the provider runs. */
  configured: ReadonlySet<string>
}

const FIREWORKS = 'accounts/fireworks/models'

/** The shipped catalogue. */
export const CATALOGUE: Catalogue = {
  tool_calls: {},
  parameters: {},
  tiers: {
    anthropic: { lite: 'claude-haiku-4-5', standard: 'claude-sonnet-4-6', pro: 'claude-opus-4-6' },
    openai: { lite: 'gpt-5.4-nano', standard: 'gpt-5.4-mini', pro: 'gpt-5.4' },
    groq: { lite: 'openai/gpt-oss-20b', standard: 'openai/gpt-oss-120b', pro: 'qwen/qwen3.8-27b' },
    fireworks: {
      lite: `${FIREWORKS}/minimax-m2p7`,
      standard: `${FIREWORKS}/deepseek-v4-pro`,
      pro: `${FIREWORKS}/kimi-k2p6`,
    },
    openrouter: {
      lite: 'deepseek/deepseek-v4.1-flash',
      standard: 'openai/gpt-6.1-terra',
      pro: 'moonshotai/kimi-k3',
    },
    ollama: { lite: 'llama3.2', standard: 'llama3.1' },
  },
  prices: Object.fromEntries(
    Object.entries(LISTED).map(([name, { price, as_of, source, unverified }]) => [
      name,
      { ...price, as_of, source, ...(unverified ? { unverified } : {}) },
    ]),
  ),
  models: Object.fromEntries(
    Object.entries(LISTED).map(([name, { context_window, max_output_tokens, vision, as_of, source }]) => [
      name,
      { context_window, max_output_tokens, vision, as_of, source },
    ]),
  ),
}

/** A catalogue of the tiers that configuration gives to providers. */
export function tiersOf(
  providers: Readonly<Record<string, { tiers?: Catalogue['tiers'][string] | undefined }>>,
): Catalogue {
  const named = Object.entries(providers).flatMap(([name, { tiers }]) => (tiers ? [[name, tiers] as const] : []))
  return { tiers: Object.fromEntries(named), prices: {}, models: {}, tool_calls: {}, parameters: {} }
}

/**
 * Returns the name under which a model is listed. A dated release (`-2026-03-05`, `-20260305`) uses the entry of its
 * model.
 */
function findCatalogueName(entries: Readonly<Record<string, unknown>>, id: string): string | undefined {
  // Entries name the simulation like all other models: `sim:rules-1`.
  const name = id.replace(/^sim\//, 'sim:')
  return [name, name.replace(/-(\d{4}-\d{2}-\d{2}|\d{8})$/, '')].find(each => Object.hasOwn(entries, each))
}

/**
 * Returns the price of `provider:model`; undefined where it is not known. A price from `models.yaml` comes first, then
 * whether its provider is free, then the shipped price.
 */
export function priceOf(
  { prices, configured }: ProjectCatalogue,
  id: string,
  { free }: Pick<ModelProvider, 'free'>,
): Price | 'free' | undefined {
  const name = findCatalogueName(prices, id)
  if (name !== undefined && configured.has(name)) return prices[name]
  if (free) return 'free'
  return name === undefined ? undefined : prices[name]
}

/** Returns all known facts of one model. */
export function factsOf(catalogue: ProjectCatalogue, target: NamedModel, config: ParameterConfig): ModelFacts {
  const { id, provider } = target
  const price = priceOf(catalogue, id, provider)
  const limits = catalogue.models[findCatalogueName(catalogue.models, id) ?? '']
  return {
    model: id,
    price: price === undefined ? 'unknown' : price,
    free_because: price === 'free' ? (provider.free_because ?? `the provider ${provider.name} is free`) : null,
    context_window: limits?.context_window ?? null,
    max_output_tokens: limits?.max_output_tokens ?? null,
    parameters: parametersOf(target, catalogue, config),
    vision: limits?.vision ?? null,
  }
}

export interface NamedModel {
  /** `provider:model`; the simulation is `sim/rules-1` */
  id: string
  provider: ModelProvider
  /** The provider's own name of the model. */
  model: string
}

/** Configured parameters, of all models and by provider. */
export interface ParameterConfig {
  readonly parameters: ModelParameters
  readonly providers: Readonly<Record<string, { parameters?: ModelParameters | undefined }>>
}

/**
 * Returns a model's parameters where profile and task set none: its own, those of a tier that means it, its provider's
 * (`model.providers.<name>.parameters`), then those of all models (`model.parameters`).
 */
export function parametersOf(
  { id, provider, model }: NamedModel,
  { parameters, tiers }: Pick<Catalogue, 'parameters' | 'tiers'>,
  config: ParameterConfig,
): ModelParameters {
  const named = TIERS.filter(tier => tiers[provider.name]?.[tier] === model)
  const ofTiers = named.map(tier => parameters[`${provider.name}:${tier}`])
  return mergeParameters(parameters[id], ...ofTiers, config.providers[provider.name]?.parameters, config.parameters)
}

/** Whether a date of the catalogue is more than `STALE_DAYS` before `now` (milliseconds); a month counts from its first day. */
export function isStale(as_of: string | undefined, now: number): boolean {
  if (as_of === undefined) return false
  const day = as_of.length === 7 ? `${as_of}-01` : as_of
  return now - Date.parse(day) > STALE_DAYS * DAY_MS
}
