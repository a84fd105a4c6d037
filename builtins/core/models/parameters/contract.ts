import { z } from '#kernel'

/** Request keys that `extra` cannot set: the call itself sets them, or they bound its cost. */
const RESERVED = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'functions',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'response_format',
]

const Extra = z
  .record(z.string().min(1).max(100), z.unknown(), 'must be a mapping, such as { top_k: 40 }')
  .superRefine((extra, context) => {
    for (const key of RESERVED.filter(reserved => Object.hasOwn(extra, reserved))) {
      context.addIssue({ code: 'custom', path: [key], message: `cannot be set here: svc sets ${key} itself` })
    }
  })

/**
 * Parameters that control how a model answers, named the same for all providers. Each provider converts them to its own
 * protocol.
 */
export const ModelParameters = z.strictObject(
  {
    reasoning_effort: z
      .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
      .optional()
      .describe('How much the model thinks before it answers; none turns thinking off where that is possible'),
    thinking_tokens: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('Maximum tokens for thinking, in addition to max_tokens; Anthropic requires at least 1024'),
    max_tokens: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('Maximum tokens of one answer, without those for thinking'),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .optional()
      .describe('Sampling temperature, from 0 (least random) to 2 (most random)'),
    top_p: z
      .number()
      .gt(0)
      .max(1)
      .meta({ examples: [0.9] })
      .optional()
      .describe('Nucleus sampling: only the most probable tokens, up to this total probability'),
    stop: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(4)
      .optional()
      .describe('Strings at which the model stops its answer'),
    seed: z
      .int()
      .min(0)
      .max(2_147_483_647)
      .optional()
      .describe('Seed of the sampling, for answers that can be repeated'),
    verbosity: z.enum(['low', 'medium', 'high']).optional().describe('Length of the answers'),
    extra: Extra.optional().describe("Additional keys of the request, under the provider's own names"),
  },
  'must be a mapping, such as { reasoning_effort: low }',
)
export type ModelParameters = z.infer<typeof ModelParameters>

/** Writes parameters in one line, such as `reasoning_effort=high temperature=0.7`. */
export function parametersLine(parameters: ModelParameters): string {
  return Object.entries(parameters)
    .map(([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' ')
}

/** Merges parameters key by key, `extra` included. Earlier arguments take precedence. */
export function mergeParameters(...layers: readonly (ModelParameters | undefined)[]): ModelParameters {
  const given = layers.filter(layer => layer !== undefined).reverse()
  const merged: ModelParameters = Object.assign({}, ...given)
  const extra = Object.assign({}, ...given.map(layer => layer.extra))
  return Object.keys(extra).length > 0 ? { ...merged, extra } : merged
}
