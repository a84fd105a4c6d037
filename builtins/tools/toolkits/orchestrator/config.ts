import { z } from '#kernel'

export const OrchestratorConfig = z.object({
  code_timeout: z.number().positive().max(86_400).default(300).describe('Seconds that a coding program may take'),
  code_max_tasks: z.number().int().min(1).max(100).default(3).describe('Coding programs that run at once'),
  code_pass_env: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
    .default([])
    .describe('Variables that coding programs get beside a few, such as ANTHROPIC_API_KEY where they have no login'),
})
export type OrchestratorConfig = z.infer<typeof OrchestratorConfig>
