import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ModelRequest } from '../contract.ts'
import { THINKS } from './thinking.ts'

type Wire = Pick<MessageCreateParamsNonStreaming, 'max_tokens' | 'thinking' | 'output_config' | 'stop_sequences'>
type Thinking = NonNullable<Wire['thinking']>

/** Minimum thinking budget that the API accepts, in tokens. */
const LEAST_BUDGET = 1024

/** The model decides how much it thinks. Recent models show nothing of it, or of what they write between calls, by default. */
const ADAPTIVE: Thinking = { type: 'adaptive', display: 'summarized' }

/** Models with `between_tools` in place of `disabled`. */
const BETWEEN_TOOLS = /claude-sonnet-5-5/

/**
 * Returns the model parameters of a request in the format of Anthropic's Messages API. The API accepts no seed and,
 * since version 2026-10-21, no temperature or `top_p`. Source:
 * https://platform.claude.com/docs/en/build-with-claude/thinking
 * @param canThink whether the conversation has all thinking blocks that the API requires with a budget for thinking
 */
export function anthropicParameters(request: ModelRequest, canThink: boolean): Wire {
  const { max_tokens, parameters = {}, omit = new Set() } = request
  const { stop, extra } = parameters
  const effort = effortOf(request)
  const wire = {
    max_tokens,
    thinking: thinking(request, canThink),
    output_config: effort && { effort },
    stop_sequences: stop,
    ...extra,
  }
  return Object.fromEntries(
    Object.entries(wire).filter(([key, value]) => value !== undefined && !omit.has(key)),
  ) as unknown as Wire
}

/** Returns the thinking setting. Older models accept only a budget; newer ones decide themselves how much to think. */
function thinking({ model, parameters = {}, omit }: ModelRequest, canThink: boolean): Thinking | undefined {
  const { reasoning_effort: effort, thinking_tokens: budget_tokens = 0 } = parameters
  if (effort === 'none' && !omit?.has('thinking.type.disabled'))
    return { type: BETWEEN_TOOLS.test(model) ? 'between_tools' : 'disabled' }
  if (THINKS.test(model)) return ADAPTIVE
  const isBudgeted = budget_tokens >= LEAST_BUDGET && !omit?.has('thinking.type.enabled')
  if (isBudgeted) return canThink ? { type: 'enabled', budget_tokens } : undefined
  return budget_tokens > 0 || effort ? ADAPTIVE : undefined
}

/** Returns the effort. A model that cannot but think does so as little as possible where no thinking is wanted. */
function effortOf({ parameters: { reasoning_effort: effort } = {}, omit }: ModelRequest) {
  if (effort === 'none') return omit?.has('thinking.type.disabled') ? 'low' : undefined
  return effort === 'minimal' ? 'low' : effort
}
