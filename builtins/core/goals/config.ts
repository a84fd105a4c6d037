import { z } from '#kernel'

/** Keys of the section `daemon` that concern goals. */
export const GoalsConfig = z.object({
  max_steps_policy: z
    .enum(['continue', 'abandon'])
    .default('continue')
    .meta({ reload: 'applied' })
    .describe("How to treat a goal when a cycle has used up the profile's max_steps"),
  pursuit_resume: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe('Whether each cycle continues the conversation of the goal; otherwise it starts a new one'),
  pursuit_transcript_max_messages: z
    .int()
    .min(1)
    .max(100_000)
    .default(200)
    .meta({ reload: 'applied' })
    .describe('Maximum number of messages kept for each goal; the goal itself and the latest messages are always kept'),
  tool_timeout: z
    .number()
    .min(0)
    .default(60)
    .meta({ reload: 'applied' })
    .describe('Time limit of one tool call, in seconds; 0 sets no limit'),
  preserve_active_goals_on_restart: z
    .boolean()
    .default(true)
    .describe(
      'Whether goals stay active when the daemon restarts; goals of agents that wait for an approval, and goals with an open question, always do',
    ),
  preserve_active_goals_on_timeout: z
    .boolean()
    .default(true)
    .describe('Whether a goal stays active when its cycle times out'),
  max_failures: z
    .int()
    .min(1)
    .default(5)
    .describe(
      'Number of consecutive failures after which an agent is shown as waiting, or ends a goal that it chose and in which it repeats itself',
    ),
  max_refusals: z
    .int()
    .min(1)
    .default(5)
    .meta({ reload: 'applied' })
    .describe('Number of refused results after which a goal is abandoned as not accepted'),
  acceptance_timeout: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .meta({ reload: 'applied' })
    .describe('Time limit of a command that is an acceptance criterion, in seconds'),
  idle_backoff: z
    .boolean()
    .default(true)
    .meta({ reload: 'applied' })
    .describe(
      'Whether an idle agent that found nothing to do, or whose last three own goals were abandoned or ended without a tool call, is asked for a goal less and less often while nothing changes',
    ),
  idle_backoff_limit: z
    .number()
    .min(0)
    .max(2_592_000)
    .default(3_600)
    .meta({ reload: 'applied' })
    .describe('Maximum time until such an idle agent is asked for a goal again, in seconds'),
})
export type GoalsConfig = z.infer<typeof GoalsConfig>
