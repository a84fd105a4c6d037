import { z } from '#kernel'

export const TasksConfig = z.object({
  toolkits: z
    .array(z.string().min(1))
    .default(['memory', 'comms', 'world'])
    .describe(
      "Toolkits that one-shot tasks may use, or their groups such as mcp, as far as the agent's profile has them; world only with the economy",
    ),
  parse_repairs: z
    .number()
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('How often the model may mend an answer that does not fit response_schema'),
})
export type TasksConfig = z.infer<typeof TasksConfig>
