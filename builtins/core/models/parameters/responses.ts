import type { ResponseCreateParams } from 'openai/resources/responses/responses'
import type { ModelRequest } from '../contract.ts'

type Wire = Pick<ResponseCreateParams, 'max_output_tokens' | 'reasoning' | 'text'> & Record<string, unknown>

/** Minimum output limit that the API accepts, in tokens. */
const LEAST_OUTPUT = 16

/**
 * Returns the model parameters of a request in the format of OpenAI's Responses API, which only its reasoning models
 * are called with. They accept neither `temperature` and `top_p` nor `stop` and `seed`. Sources:
 * https://platform.openai.com/docs/api-reference/responses/create, https://platform.openai.com/docs/guides/reasoning
 */
export function responsesParameters({ max_tokens, parameters = {}, omit = new Set() }: ModelRequest): Wire {
  const { reasoning_effort, verbosity, extra } = parameters
  const accepted = (fields: Record<string, unknown>, path = '') =>
    Object.fromEntries(Object.entries(fields).filter(([key, value]) => value !== undefined && !omit.has(path + key)))
  return accepted({
    max_output_tokens: Math.max(LEAST_OUTPUT, max_tokens),
    // OpenAI gives only a summary of the reasoning.
    reasoning: accepted({ effort: reasoning_effort, summary: 'auto' }, 'reasoning.'),
    text: verbosity && accepted({ verbosity }, 'text.'),
    ...extra,
  })
}
