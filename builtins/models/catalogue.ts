import { z } from '#kernel'
import { ToolCalls } from './contract.ts'

export const TIERS = ['lite', 'standard', 'pro'] as const
export type Tier = (typeof TIERS)[number]

const usd = z.number().min(0).max(100_000)

/**
 * USD per million tokens, which is micro-dollars per token. Input that is read from the provider's cache (`cached_input`) or
 * written to it (`cache_write`) costs as much as other input where that isn't given.
 */
export const Price = z.strictObject({
  input: usd,
  output: usd,
  cached_input: usd.optional(),
  cache_write: usd.optional(),
  as_of: z
    .string()
    .regex(/^\d{4}-\d{2}(-\d{2})?$/)
    .optional()
    .describe('When the price was written down: year-month'),
  unverified: z.boolean().optional().describe('Not compared with the price list of its provider'),
})
export type Price = z.infer<typeof Price>

const Name = z.string().regex(/^[^:\s]+:\S+$/, 'must be written provider:model')

/** Which model a provider's tier means, what models cost, and how they call tools, by `provider:model`. */
export const Catalogue = z.strictObject({
  tiers: z.record(z.string(), z.partialRecord(z.enum(TIERS), z.string().min(1).max(200))).default({}),
  prices: z.record(Name, Price).default({}),
  tool_calls: z.record(Name, ToolCalls).default({}),
})
export type Catalogue = z.infer<typeof Catalogue>

/** What a model without a known price counts at, so that its spend is seen and limited. */
export const DEFAULT_PRICE: Price = { input: 1, output: 5 }

const as_of = '2026-11'
const unverified = true
const FIREWORKS = 'accounts/fireworks/models'

/**
 * The shipped catalogue. OpenAI's and Anthropic's figures are from their price pages (developers.openai.com/api/docs/pricing,
 * platform.claude.com/docs/en/about-claude/pricing); the others are marked as not verified.
 */
export const CATALOGUE: Catalogue = {
  tool_calls: {},
  tiers: {
    anthropic: { lite: 'claude-haiku-4-5', standard: 'claude-sonnet-4-6', pro: 'claude-opus-4-6' },
    openai: { lite: 'gpt-5.4-nano', standard: 'gpt-5.4-mini', pro: 'gpt-5.4' },
    groq: { lite: 'llama-3.1-8b-instant', standard: 'openai/gpt-oss-20b', pro: 'llama-3.3-70b-versatile' },
    fireworks: {
      lite: `${FIREWORKS}/minimax-m2p7`,
      standard: `${FIREWORKS}/deepseek-v4-pro`,
      pro: `${FIREWORKS}/kimi-k2p6`,
    },
    openrouter: {
      lite: 'deepseek/deepseek-v4-flash',
      standard: 'moonshotai/kimi-latest',
      pro: 'anthropic/claude-sonnet-latest',
    },
    ollama: { lite: 'llama3.2', standard: 'llama3.1' },
  },
  prices: {
    'anthropic:claude-haiku-4-5': { input: 1, output: 5, cached_input: 0.1, cache_write: 1.25, as_of },
    'anthropic:claude-sonnet-4-6': { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75, as_of },
    'anthropic:claude-opus-4-6': { input: 5, output: 25, cached_input: 0.5, cache_write: 6.25, as_of },
    'openai:gpt-5.4-nano': { input: 0.2, output: 1.25, cached_input: 0.02, as_of },
    'openai:gpt-5.4-mini': { input: 0.75, output: 4.5, cached_input: 0.075, as_of },
    'openai:gpt-5.4': { input: 2.5, output: 15, cached_input: 0.25, as_of },
    'groq:llama-3.1-8b-instant': { input: 0.05, output: 0.08, as_of, unverified },
    'groq:openai/gpt-oss-20b': { input: 0.2, output: 0.6, as_of, unverified },
    'groq:llama-3.3-70b-versatile': { input: 0.59, output: 0.79, as_of, unverified },
    [`fireworks:${FIREWORKS}/minimax-m2p7`]: { input: 0.3, output: 1.2, as_of, unverified },
    [`fireworks:${FIREWORKS}/kimi-k2p6`]: { input: 0.95, output: 4, as_of, unverified },
    [`fireworks:${FIREWORKS}/deepseek-v3p2`]: { input: 0.56, output: 1.68, as_of, unverified },
    [`fireworks:${FIREWORKS}/gpt-oss-120b`]: { input: 0.15, output: 0.6, as_of, unverified },
    'openrouter:deepseek/deepseek-v4-flash': { input: 0.1, output: 0.4, as_of, unverified },
    'openrouter:moonshotai/kimi-latest': { input: 2, output: 8, as_of, unverified },
    'openrouter:anthropic/claude-sonnet-latest': { input: 3, output: 15, as_of, unverified },
  },
}

/** A catalogue of the tiers that configuration gives to providers. */
export function tiersOf(
  providers: Readonly<Record<string, { tiers?: Catalogue['tiers'][string] | undefined }>>,
): Catalogue {
  const named = Object.entries(providers).flatMap(([name, { tiers }]) => (tiers ? [[name, tiers] as const] : []))
  return { tiers: Object.fromEntries(named), prices: {}, tool_calls: {} }
}

/** The price of `provider:model`; a model's dated release (`-2026-03-05`, `-20260305`) costs what the model does. */
export function priceOf(catalogue: Catalogue, id: string): Price | undefined {
  return catalogue.prices[id] ?? catalogue.prices[id.replace(/-(\d{4}-\d{2}-\d{2}|\d{8})$/, '')]
}
