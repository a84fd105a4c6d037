import { z } from '#kernel'

/** Keys of the section `daemon` that concern goals. */
export const GoalsConfig = z.object({
  max_steps_policy: z
    .enum(['continue', 'abandon'])
    .default('continue')
    .meta({ reload: 'applied' })
    .describe("What becomes of a goal when a cycle has used up the profile's max_steps"),
  pursuit_resume: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe('Whether a pursuit goes on where it was'),
  pursuit_transcript_max_messages: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(200)
    .meta({ reload: 'applied' })
    .describe('Messages kept for each goal; the goal itself and what was said last always are'),
  tool_timeout: z
    .number()
    .min(0)
    .default(60)
    .meta({ reload: 'applied' })
    .describe('Seconds that one tool call may take; 0 sets no limit'),
  preserve_active_goals_on_restart: z
    .boolean()
    .default(true)
    .describe('Whether goals stay active over a restart; those of agents that wait for an approval always do'),
  preserve_active_goals_on_timeout: z
    .boolean()
    .default(true)
    .describe('Whether a goal stays active when its cycle times out'),
  max_failures: z
    .number()
    .int()
    .min(1)
    .default(5)
    .describe('Model failures in a row after which an agent shows as waiting'),
  max_refusals: z
    .number()
    .int()
    .min(1)
    .default(5)
    .meta({ reload: 'applied' })
    .describe('Refused ends after which a goal is given up as not accepted'),
  idle_backoff: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe(
      'Whether an idle agent for which nothing to do was found is asked less and less often while nothing changes',
    ),
  idle_backoff_limit: z
    .number()
    .min(0)
    .max(2_592_000)
    .default(3_600)
    .meta({ reload: 'applied' })
    .describe('The longest that such an agent is left alone, in seconds'),
})
export type GoalsConfig = z.infer<typeof GoalsConfig>
