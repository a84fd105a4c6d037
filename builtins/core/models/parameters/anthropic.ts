import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ModelRequest } from '../contract.ts'
import { thinkingTokens } from './contract.ts'

type Wire = Pick<MessageCreateParamsNonStreaming, 'max_tokens' | 'thinking' | 'output_config' | 'stop_sequences'>
type Thinking = NonNullable<Wire['thinking']>

/** Minimum thinking budget that the API accepts, in tokens. */
const LEAST_BUDGET = 1024

/**
 * Returns the model parameters of a request in the format of Anthropic's Messages API. The API accepts no seed and,
 * since version 2026-10-21, no temperature or `top_p`. Source:
 * https://platform.claude.com/docs/en/build-with-claude/thinking
 * @param canThink whether the conversation has all thinking blocks that the API requires when thinking is on
 */
export function anthropicParameters(request: ModelRequest, canThink: boolean): Wire {
  const { max_tokens, parameters = {}, omit = new Set() } = request
  const { reasoning_effort: effort, stop, extra } = parameters
  const wire = {
    max_tokens,
    thinking: canThink ? thinking(request) : undefined,
    output_config: effort && effort !== 'none' ? { effort: effort === 'minimal' ? 'low' : effort } : undefined,
    stop_sequences: stop,
    ...extra,
  }
  return Object.fromEntries(
    Object.entries(wire).filter(([key, value]) => value !== undefined && !omit.has(key)),
  ) as unknown as Wire
}

/** Returns the thinking setting. Older models accept only a budget; newer ones decide themselves how much to think. */
function thinking({ parameters = {}, omit }: ModelRequest): Thinking | undefined {
  if (parameters.reasoning_effort === 'none') return { type: 'disabled' }
  const budget_tokens = thinkingTokens(parameters)
  const isBudgeted = budget_tokens >= LEAST_BUDGET && !omit?.has('thinking.type.enabled')
  if (isBudgeted) return { type: 'enabled', budget_tokens }
  return budget_tokens > 0 || parameters.reasoning_effort ? { type: 'adaptive' } : undefined
}
