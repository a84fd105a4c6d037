import type { Price } from './catalogue.ts'
import { DEFAULT_PRICE } from './catalogue.ts'
import { estimateTokens, type ModelRequest, type PlannedSpend, type Spend, type Usage } from './contract.ts'

/** What became of one attempt, as far as its cost goes. */
export interface Attempt {
  usage?: Usage
  output_chars: number
  /** Whether the provider may charge for it. */
  billed: boolean
}

/** More than any context holds: such a count is a fault of the server. */
const ABSURD_TOKENS = 10_000_000

/** How much text a request sends: messages with their tool calls, and the tools on offer. */
export function charsOf({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number {
  const said = messages.reduce((sum, { content, tool_calls }) => {
    return sum + content.length + (tool_calls ? JSON.stringify(tool_calls).length : 0)
  }, 0)
  return said + (tools.length > 0 ? JSON.stringify(tools).length : 0)
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
  if (input_tokens === 0 && charsOf(request) > 0) return undefined
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

/** What one attempt may cost at most: its input, estimated, at the dearest price that input has, and all the output it may give. */
export function boundOf(
  request: Pick<ModelRequest, 'messages' | 'tools' | 'max_tokens'>,
  price: Price | 'free' | undefined,
): ReturnType<PlannedSpend['bound']> {
  const input_tokens = estimateTokens(charsOf(request))
  const tokens = input_tokens + request.max_tokens
  if (price === 'free') return { cost_micros: 0, tokens }
  const { input, output, cache_write = input } = price ?? DEFAULT_PRICE
  return { cost_micros: micros(input_tokens * Math.max(input, cache_write) + request.max_tokens * output), tokens }
}

/** Whether the price of a call is known. */
export function pricedOf(price: Price | 'free' | undefined): Spend['priced'] {
  return price === 'free' ? 'free' : price ? 'catalogue' : 'default'
}

/** Adds up what all attempts of a call cost. Missing counts are estimated, never free; the sum is rounded up to a micro-dollar. */
export function spendOf(
  attempts: readonly Attempt[],
  request: Pick<ModelRequest, 'messages' | 'tools'>,
  price: Price | 'free' | undefined,
): Omit<Spend, 'call_id' | 'model' | 'duration_ms'> {
  let estimated = false
  const total = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0 }
  for (const attempt of attempts) {
    let usage = plausible(attempt, request)
    if (!usage) {
      if (!attempt.billed) continue
      estimated = true
      usage = {
        input_tokens: estimateTokens(charsOf(request)),
        output_tokens: estimateTokens(attempt.output_chars),
      }
    }
    total.input_tokens += usage.input_tokens
    total.output_tokens += usage.output_tokens
    total.cached_tokens += usage.cached_tokens ?? 0
    total.cache_write_tokens += usage.cache_write_tokens ?? 0
  }
  const { input_tokens, output_tokens, cached_tokens, cache_write_tokens } = total
  return {
    cost_micros: price === 'free' ? 0 : microsOf(total, price ?? DEFAULT_PRICE),
    ...{ input_tokens, output_tokens },
    ...(cached_tokens > 0 ? { cached_tokens } : {}),
    ...(cache_write_tokens > 0 ? { cache_write_tokens } : {}),
    priced: pricedOf(price),
    estimated,
    attempts: attempts.length,
  }
}

function microsOf(tokens: Required<Usage>, price: Price): number {
  const { input, output, cached_input = input, cache_write = input } = price
  const { cached_tokens, cache_write_tokens } = tokens
  const fresh = tokens.input_tokens - cached_tokens - cache_write_tokens
  const read = cached_tokens * cached_input
  return micros(fresh * input + read + cache_write_tokens * cache_write + tokens.output_tokens * output)
}

/** Rounded up. Prices are decimal fractions: without the margin 25 × 0.56 would be rounded up from 14.000000000000002. */
function micros(exact: number): number {
  return Math.max(0, Math.ceil(exact - 1e-6))
}
