import { messagesTokens, toolsTokens } from '../context/tokens.ts'
import {
  estimateTokens,
  type ModelPrice,
  type ModelRates,
  type ModelRequest,
  type PlannedSpend,
  type Spend,
  type Usage,
} from '../contract.ts'

/** The data of one attempt that determine its cost. */
export interface Attempt {
  usage?: Usage
  output_chars: number
  /** Whether the provider may charge for the attempt. */
  billed: boolean
}

/** Maximum plausible token count, more than any context window; a higher one is a server error. */
const ABSURD_TOKENS = 10_000_000

/** Estimates the tokens that a request sends: messages with their tool calls and images, and the tools on offer. */
export function inputTokens({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number {
  return messagesTokens(messages) + toolsTokens(tools)
}

/**
 * Returns the provider's counts if they are plausible; undefined for negative, fractional or absurd ones, and for zero
 * where something was sent or received.
 */
function plausible(
  { usage, output_chars }: Attempt,
  request: Pick<ModelRequest, 'messages' | 'tools'>,
): Usage | undefined {
  if (!usage) return undefined
  const { input_tokens, output_tokens } = usage
  const counts = [input_tokens, output_tokens]
  if (counts.some(count => !Number.isInteger(count) || count < 0 || count > ABSURD_TOKENS)) return undefined
  if (output_tokens === 0 && output_chars > 0) return undefined
  if (input_tokens === 0 && inputTokens(request) > 0) return undefined
  const cached_tokens = partOf(input_tokens, usage.cached_tokens)
  const cache_write_tokens = partOf(input_tokens - cached_tokens, usage.cache_write_tokens)
  return {
    input_tokens,
    output_tokens,
    ...(cached_tokens > 0 ? { cached_tokens } : {}),
    ...(cache_write_tokens > 0 ? { cache_write_tokens } : {}),
  }
}

function partOf(whole: number, part = 0): number {
  return Number.isInteger(part) && part > 0 ? Math.min(part, whole) : 0
}

/**
 * Returns the maximum cost of one attempt: its estimated input at the highest input price, and the maximum output.
 * Without a known price, only the tokens are returned.
 */
export function boundOf(
  request: Pick<ModelRequest, 'messages' | 'tools' | 'max_tokens'>,
  price: ModelPrice | 'free' | undefined,
): ReturnType<PlannedSpend['maxSpend']> {
  const input_tokens = inputTokens(request)
  const tokens = input_tokens + request.max_tokens
  if (price === 'free' || price === undefined) return { cost_micros: 0, tokens }
  const { input, output, cache_write = input } = ratesFor(price, input_tokens)
  return { cost_micros: micros(input_tokens * Math.max(input, cache_write) + request.max_tokens * output), tokens }
}

/** Returns whether the price of a call is known, unknown or free. */
export function priceStateOf(price: ModelPrice | 'free' | undefined): Spend['priced'] {
  return price === 'free' ? 'free' : price ? 'catalogue' : 'unknown'
}

/**
 * Adds up what all attempts of a call cost. Missing counts are estimated, never free; the sum is rounded up to a micro-dollar.
 * Without a known price the cost is 0, and `priced` says so.
 */
export function spendOf(
  attempts: readonly Attempt[],
  request: Pick<ModelRequest, 'messages' | 'tools'>,
  price: ModelPrice | 'free' | undefined,
): Omit<Spend, 'call_id' | 'model' | 'duration_ms'> {
  let estimated = false
  let exact = 0
  const total = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0 }
  for (const attempt of attempts) {
    let usage = plausible(attempt, request)
    if (!usage) {
      if (!attempt.billed) continue
      estimated = true
      usage = { input_tokens: inputTokens(request), output_tokens: estimateTokens(attempt.output_chars) }
    }
    if (price !== undefined && price !== 'free') exact += exactMicros(usage, price)
    total.input_tokens += usage.input_tokens
    total.output_tokens += usage.output_tokens
    total.cached_tokens += usage.cached_tokens ?? 0
    total.cache_write_tokens += usage.cache_write_tokens ?? 0
  }
  const { input_tokens, output_tokens, cached_tokens, cache_write_tokens } = total
  return {
    cost_micros: micros(exact),
    input_tokens,
    output_tokens,
    ...(cached_tokens > 0 ? { cached_tokens } : {}),
    ...(cache_write_tokens > 0 ? { cache_write_tokens } : {}),
    priced: priceStateOf(price),
    estimated,
    attempts: attempts.length,
  }
}

function exactMicros(
  { input_tokens, output_tokens, cached_tokens = 0, cache_write_tokens = 0 }: Usage,
  price: ModelPrice,
) {
  const { input, output, cached_input = input, cache_write = input } = ratesFor(price, input_tokens)
  const fresh = input_tokens - cached_tokens - cache_write_tokens
  return fresh * input + cached_tokens * cached_input + cache_write_tokens * cache_write + output_tokens * output
}

/** Returns the token prices of a request with this number of input tokens. */
function ratesFor(price: ModelPrice, input_tokens: number): ModelRates {
  const { long_prompt } = price
  return long_prompt && input_tokens > long_prompt.above ? long_prompt : price
}

/**
 * Rounds up to a micro-dollar. Prices are decimal fractions: without the margin 25 × 0.56 would be rounded up from
 * 14.000000000000002.
 */
function micros(exact: number): number {
  return Math.max(0, Math.ceil(exact - 1e-6))
}
