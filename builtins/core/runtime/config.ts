import { z } from '#kernel'

/** Settings of the section `daemon` that concern available tools. */
export const RuntimeConfig = z.object({
  tool_prompt_tokens: z
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .meta({ reload: 'applied' })
    .describe(
      "Tokens that the tools in view may take of each prompt, as estimated; what does not fit is found with find_tools. 0: a fifth of the model's context window, which is the limit in any case",
    ),
  toolkit_cache: z
    .boolean()
    .default(true)
    .meta({ reload: 'restart_required' })
    .describe('Whether the set of tools of an agent is kept from cycle to cycle; false makes it anew'),
})
export type RuntimeConfig = z.infer<typeof RuntimeConfig>
