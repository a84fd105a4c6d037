import { z } from '#kernel'

export const TasksConfig = z.object({
  toolkits: z
    .array(z.string().min(1))
    .default(['memory', 'comms', 'world'])
    .describe(
      "Toolkits, or groups of them such as mcp, that one-shot tasks may use if the agent's profile has them; world requires the economy",
    ),
  parse_repairs: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('Number of attempts of the model to repair an answer that does not match response_schema'),
})
export type TasksConfig = z.infer<typeof TasksConfig>
