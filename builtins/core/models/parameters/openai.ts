import type { ModelRequest } from '../contract.ts'
import { RESPONSES } from '../providers/refusals.ts'
import type { ModelParameters } from './contract.ts'
import type { Dialect } from './dialects.ts'

type Wire = Record<string, unknown>
type Effort = NonNullable<ModelParameters['reasoning_effort']>

/** OpenAI's reasoning models refuse `max_tokens`, and accept only the default `temperature` and `top_p`. */
export const REASONING_MODEL = /^(o\d|gpt-[5-9])/

/**
 * Returns the model parameters of a request in one dialect of OpenAI's chat completions. Omits parameters that the
 * dialect does not support. Sources: https://platform.openai.com/docs/api-reference/chat/create,
 * https://openrouter.ai/docs/use-cases/reasoning-tokens, https://ai.google.dev/gemini-api/docs/openai,
 * https://docs.mistral.ai/api, https://api-docs.deepseek.com/guides/thinking_mode, https://docs.ollama.com/openai,
 * https://docs.vllm.ai/en/latest/features/reasoning_outputs.html
 */
export function wireParameters(
  { model, tools, temperature, max_tokens, parameters = {}, omit = new Set() }: ModelRequest,
  dialect: Dialect,
): Wire {
  const { top_p, stop, seed, verbosity, extra = {} } = parameters
  const reasons = dialect === 'openai' && REASONING_MODEL.test(model)
  // The server has no Responses API, in which the model could use tools and think.
  const needsNoThinking = omit.has(RESPONSES) && tools.length > 0
  const named = reasons ? !omit.has('max_completion_tokens') : omit.has('max_tokens')
  const wire: Wire = {
    [named ? 'max_completion_tokens' : 'max_tokens']: max_tokens,
    ...(reasons ? {} : { temperature, top_p }),
    stop,
    [dialect === 'mistral' ? 'random_seed' : 'seed']: dialect === 'deepseek' ? undefined : seed,
    verbosity: dialect === 'openai' || dialect === 'openrouter' ? verbosity : undefined,
    ...(needsNoThinking ? { reasoning_effort: 'none' } : thinking(parameters, dialect)),
    ...extra,
  }
  return Object.fromEntries(Object.entries(wire).filter(([key, value]) => value !== undefined && !omit.has(key)))
}

function thinking({ reasoning_effort: effort, thinking_tokens }: ModelParameters, dialect: Dialect): Wire {
  switch (dialect) {
    case 'openrouter':
      if (effort === 'none') return { reasoning: { enabled: false } }
      // OpenRouter accepts only one of the two.
      if (thinking_tokens) return { reasoning: { max_tokens: thinking_tokens } }
      return effort ? { reasoning: { effort: capEffort('xhigh', effort) } } : {}
    case 'gemini':
      if (!thinking_tokens) return { reasoning_effort: effort && capEffort('high', effort) }
      return { extra_body: { google: { thinking_config: { thinking_budget: thinking_tokens } } } }
    case 'mistral':
      return { reasoning_effort: effort && (isLeast(effort) ? 'none' : 'high') }
    case 'deepseek':
      if (effort === 'none') return { thinking: { type: 'disabled' } }
      return effort ? { thinking: { type: 'enabled' }, reasoning_effort: effort } : {}
    case 'ollama':
      return { reasoning_effort: effort && raiseEffort('low', capEffort('high', effort)) }
    case 'local':
      // Templates of most models only switch thinking on or off; gpt-oss has levels.
      if (!effort) return {}
      return {
        chat_template_kwargs: { enable_thinking: effort !== 'none' },
        ...(effort === 'none' ? {} : { reasoning_effort: raiseEffort('low', capEffort('high', effort)) }),
      }
    default:
      return { reasoning_effort: effort }
  }
}

const EFFORTS: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

function capEffort(most: Effort, effort: Effort): Effort {
  return EFFORTS[Math.min(EFFORTS.indexOf(most), EFFORTS.indexOf(effort))]!
}

/** Leaves `none` unchanged, because it turns thinking off. */
function raiseEffort(least: Effort, effort: Effort): Effort {
  return effort === 'none' ? effort : EFFORTS[Math.max(EFFORTS.indexOf(least), EFFORTS.indexOf(effort))]!
}

function isLeast(effort: Effort): boolean {
  return effort === 'none' || effort === 'minimal'
}
