import { z } from '#kernel'

/** The part of the section `daemon` that is about the tools on offer. */
export const RuntimeConfig = z.object({
  tool_prompt_tokens: z
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(3_000)
    .meta({ reload: 'applied' })
    .describe(
      'Tokens that the tools on offer may take of each prompt, as estimated; what does not fit is found with find_tools. 0 sets no limit',
    ),
  toolkit_cache: z
    .boolean()
    .default(true)
    .meta({ reload: 'restart_required' })
    .describe('Whether the set of tools of an agent is kept from cycle to cycle; false makes it anew'),
})
export type RuntimeConfig = z.infer<typeof RuntimeConfig>
