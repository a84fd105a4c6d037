import type { ModelPrice } from '../contract.ts'

/** One model of the shipped catalogue, with the source page and its date. */
interface ListedModel {
  price: ModelPrice
  context_window?: number
  max_output_tokens?: number
  /** Whether the model sees images. */
  vision?: boolean
  as_of: string
  source?: string
  /** Whether the source is another page than the provider's own. */
  unverified?: true
}

const CLAUDE = 'https://platform.claude.com/docs/en/about-claude/pricing'
const OPENAI = 'https://developers.openai.com/api/docs/models'
const OPENAI_PRICES = 'https://developers.openai.com/api/docs/pricing'
const GROQ = 'https://console.groq.com/docs/models'
const FIREWORKS = 'https://docs.fireworks.ai/serverless/pricing'
const OPENROUTER = 'https://openrouter.ai/models'

const M = 1_000_000
/**
 * Input tokens above which OpenAI's models since GPT-5.6 cost twice as much for input and half as much again for
 * output.
 */
const LONG = 272_000

const wide = { context_window: M, max_output_tokens: 128_000, vision: true }
const claude = { ...wide, as_of: '2026-10-24', source: CLAUDE }
const gpt = { context_window: 1_050_000, max_output_tokens: 128_000, vision: true }
const gptOctober = { ...gpt, as_of: '2026-10-26', source: OPENAI }
const gptSeptember = { ...gpt, as_of: '2026-09-22', source: OPENAI }
const opus = { input: 5, output: 25, cached_input: 0.5, cache_write: 6.25 }
const gptSmall = {
  context_window: 400_000,
  max_output_tokens: 128_000,
  vision: true,
  as_of: '2026-11',
  source: OPENAI_PRICES,
}
const oss = { context_window: 131_072, max_output_tokens: 65_536, vision: false, as_of: '2026-08-29', source: GROQ }
const router = { max_output_tokens: 943_718, as_of: '2026-09', source: OPENROUTER, unverified: true } as const

/** Returns an OpenAI price with its surcharge for long prompts. */
function withLong(price: { input: number; output: number; cached_input?: number; cache_write: number }) {
  const { input, output, cached_input, cache_write } = price
  const cached = cached_input === undefined ? {} : { cached_input: cached_input * 2 }
  const long = { input: input * 2, output: Number((output * 1.5).toFixed(4)), ...cached, cache_write: cache_write * 2 }
  return { ...price, long_prompt: { above: LONG, ...long } }
}

/** Current models of the providers that charge, and those that the tiers name. USD per million tokens; limits in tokens. */
export const LISTED: Readonly<Record<string, ListedModel>> = {
  'anthropic:claude-fable-5-2': {
    // Its price for cached input is not listed here, so such input costs like other input.
    price: { input: 8, output: 40, cache_write: 10 },
    ...wide,
    as_of: '2026-11-10',
    source: CLAUDE,
  },
  'anthropic:claude-fable-5-1': {
    price: { input: 10, output: 50, cached_input: 0.25, cache_write: 12.5 },
    ...claude,
  },
  'anthropic:claude-opus-5-5': {
    price: { input: 4, output: 20, cached_input: 0.2, cache_write: 5 },
    ...claude,
  },
  'anthropic:claude-sonnet-5-5': {
    price: { input: 2, output: 10, cached_input: 0.1, cache_write: 2.5 },
    ...claude,
  },
  'anthropic:claude-haiku-5-5': {
    price: {
      input: 0.1,
      output: 0.5,
      cached_input: 0.01,
      cache_write: 0.125,
      long_prompt: { above: 100_000, input: 0.5, output: 2.5, cached_input: 0.05, cache_write: 0.625 },
    },
    ...claude,
  },
  'anthropic:claude-opus-5': { price: opus, ...claude },
  'anthropic:claude-sonnet-5': {
    price: { input: 2, output: 10, cached_input: 0.2, cache_write: 2.5 },
    ...claude,
  },
  'anthropic:claude-opus-4-6': { price: opus, ...claude },
  'anthropic:claude-sonnet-4-6': {
    price: { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
    ...claude,
  },
  'anthropic:claude-haiku-4-5': {
    price: { input: 1, output: 5, cached_input: 0.1, cache_write: 1.25 },
    context_window: 200_000,
    max_output_tokens: 64_000,
    vision: true,
    as_of: '2026-10-24',
    source: CLAUDE,
  },
  'openai:gpt-6-astra': {
    price: withLong({ input: 10, output: 50, cached_input: 1, cache_write: 12.5 }),
    ...gptOctober,
  },
  'openai:gpt-6.1-sol': {
    price: withLong({ input: 2, output: 10, cached_input: 0.1, cache_write: 2.5 }),
    ...gptOctober,
  },
  'openai:gpt-6.1-terra': {
    price: withLong({ input: 1, output: 5, cached_input: 0.05, cache_write: 1.25 }),
    ...gptOctober,
  },
  'openai:gpt-6-sol': {
    price: withLong({ input: 2, output: 10, cached_input: 0.2, cache_write: 2.5 }),
    ...gptSeptember,
  },
  'openai:gpt-6-luna': {
    price: withLong({ input: 0.1, output: 0.5, cached_input: 0.01, cache_write: 0.125 }),
    ...gptOctober,
  },
  'openai:gpt-5.6-sol': {
    price: withLong({ input: 4, output: 20, cache_write: 5 }),
    ...gptSeptember,
  },
  'openai:gpt-5.6-terra': {
    price: withLong({ input: 2, output: 12, cached_input: 0.2, cache_write: 2.5 }),
    ...gptSeptember,
  },
  'openai:gpt-5.6-luna': {
    price: withLong({ input: 0.2, output: 1.2, cached_input: 0.02, cache_write: 0.25 }),
    ...gptSeptember,
  },
  'openai:gpt-5.4': {
    price: { input: 2.5, output: 15, cached_input: 0.25 },
    ...gpt,
    as_of: '2026-11',
    source: OPENAI_PRICES,
  },
  'openai:gpt-5.4-mini': {
    price: { input: 0.75, output: 4.5, cached_input: 0.075 },
    ...gptSmall,
  },
  'openai:gpt-5.4-nano': {
    price: { input: 0.2, output: 1.25, cached_input: 0.02 },
    ...gptSmall,
  },
  'groq:openai/gpt-oss-120b': {
    price: { input: 0.15, output: 0.6, cached_input: 0.075 },
    ...oss,
  },
  'groq:openai/gpt-oss-20b': {
    price: { input: 0.075, output: 0.3, cached_input: 0.0375 },
    ...oss,
  },
  'groq:qwen/qwen3.8-27b': {
    price: { input: 0.8, output: 4, cached_input: 0.4 },
    context_window: 131_042,
    max_output_tokens: 16_384,
    as_of: '2026-08-29',
    source: 'https://groq.com/pricing',
  },
  ...fireworks('deepseek-v4-pro-0813', [1.32, 3.96, 0.044], '2026-09-26', [1_048_576]),
  ...fireworks('deepseek-v4-pro', [1.74, 3.48, 0.145], '2026-05'),
  ...fireworks('deepseek-v4-flash-0731', [0.14, 0.28, 0.028], '2026-07-31', [1_048_576, 384_000]),
  ...fireworks('deepseek-v3p2', [0.56, 1.68, 0.28], '2026-05'),
  ...fireworks('glm-5p3', [1.4, 4.4, 0.26], '2026-09-07', [1_048_573, 262_144]),
  ...fireworks('glm-5p3-flash', [0.15, 0.5, 0.03], '2026-09-07', [1_048_573, 131_072]),
  ...fireworks('glm-5p2', [1.4, 4.4, 0.14], '2026-06-16', [1_048_576, 131_072]),
  ...fireworks('kimi-k2p7-code', [0.95, 4, 0.19], '2026-09-26', [262_000]),
  ...fireworks('kimi-k2p6', [0.95, 4, 0.16], '2026-05', [262_000, 262_000]),
  ...fireworks('minimax-m3', [0.3, 1.2, 0.06], '2026-06-12', [512_000, 128_000]),
  ...fireworks('minimax-m2p7', [0.3, 1.2, 0.06], '2026-05', [196_608, 131_072]),
  ...fireworks('gpt-oss-120b', [0.15, 0.6, 0.015], '2026-05', [131_072, 32_768]),
  ...fireworks('gpt-oss-20b', [0.07, 0.3, 0.035], '2026-05', [131_072, 32_768]),
  // OpenRouter may choose the cheapest of several hosts, or another one, so the price changes from day to day.
  'openrouter:openai/gpt-6.1-terra': {
    price: withLong({ input: 1, output: 5, cached_input: 0.05, cache_write: 1.25 }),
    ...gpt,
    as_of: '2026-10-26',
    source: OPENROUTER,
    unverified: true,
  },
  'openrouter:deepseek/deepseek-v4.1-flash': {
    price: { input: 0.03, output: 0.6, cached_input: 0.006 },
    context_window: 1_048_576,
    ...router,
  },
  'openrouter:moonshotai/kimi-k3': {
    price: { input: 1.89, output: 9.48, cached_input: 0.216 },
    ...router,
  },
}

/** One model of Fireworks: prices of input, output and cached input; then context window and output limit, as far as they are known. */
function fireworks(
  name: string,
  [input, output, cached_input]: readonly [number, number, number],
  as_of: string,
  [context_window, max_output_tokens]: readonly [number?, number?] = [],
): Record<string, ListedModel> {
  const limits = {
    ...(context_window === undefined ? {} : { context_window }),
    ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
  }
  return {
    [`fireworks:accounts/fireworks/models/${name}`]: {
      price: { input, output, cached_input },
      ...limits,
      as_of,
      source: FIREWORKS,
    },
  }
}
