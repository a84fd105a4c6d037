import { z } from '#kernel'

export const OrchestratorConfig = z.object({
  code_timeout: z.number().positive().max(86_400).default(300).describe('Time limit of a coding program, in seconds'),
  code_max_tasks: z.int().min(1).max(100).default(3).describe('Maximum number of coding programs that run at once'),
  code_pass_env: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
    .default([])
    .describe(
      'Additional environment variables that coding programs get, such as ANTHROPIC_API_KEY where they have no login',
    ),
})
export type OrchestratorConfig = z.infer<typeof OrchestratorConfig>
