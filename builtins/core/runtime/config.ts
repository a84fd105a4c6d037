import { z } from '#kernel'

/** Settings of the section `daemon` that concern available tools. */
export const RuntimeConfig = z.object({
  tool_prompt_tokens: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .meta({ reload: 'applied' })
    .describe(
      "Maximum tokens of the tools in each prompt, estimated; agents find the tools that do not fit with find_tools. 0: a fifth of the model's context window, which is the maximum in any case",
    ),
  toolkit_cache: z
    .boolean()
    .default(true)
    .meta({ reload: 'restart_required' })
    .describe("Whether an agent's set of tools is cached between cycles; if false, each cycle builds it again"),
})
export type RuntimeConfig = z.infer<typeof RuntimeConfig>
