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

/** What became of one attempt, as far as its cost goes. */
export interface Attempt {
  usage?: Usage
  output_chars: number
  /** Whether the provider may charge for it. */
  billed: boolean
}

/** More than any context holds: such a count is a fault of the server. */
const ABSURD_TOKENS = 10_000_000

/** Estimates the tokens that a request sends: messages with their tool calls and images, and the tools on offer. */
export function inputTokens({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number {
  return messagesTokens(messages) + toolsTokens(tools)
}

/** A provider's counts if they can be true; undefined for negative, fractional or absurd ones, and for none of what was sent or said. */
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
    ...{ input_tokens, output_tokens },
    ...(cached_tokens > 0 ? { cached_tokens } : {}),
    ...(cache_write_tokens > 0 ? { cache_write_tokens } : {}),
  }
}

function partOf(whole: number, part = 0): number {
  return Number.isInteger(part) && part > 0 ? Math.min(part, whole) : 0
}

/**
 * What one attempt may cost at most: its input, estimated, at the dearest price that input has, and all the output it may give.
 * Of a model without a known price only the tokens are known.
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

/** Whether the price of a call is known. */
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
    ...{ input_tokens, output_tokens },
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

/** What the tokens of a request with so much input cost. */
function ratesFor(price: ModelPrice, input_tokens: number): ModelRates {
  const { long_prompt } = price
  return long_prompt && input_tokens > long_prompt.above ? long_prompt : price
}

/** Rounded up. Prices are decimal fractions: without the margin 25 × 0.56 would be rounded up from 14.000000000000002. */
function micros(exact: number): number {
  return Math.max(0, Math.ceil(exact - 1e-6))
}
