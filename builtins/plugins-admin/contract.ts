import { z } from '#kernel'

export const Plugin = z.object({
  name: z.string(),
  state: z.enum(['live', 'failed', 'disabled']),
  origin: z.string().describe('`builtin`, or the file that it was loaded from'),
  version: z.string(),
  description: z.string(),
  registered: z.array(z.string()).describe('What it holds now, oldest first'),
  error: z.string().nullable().describe('Why it failed: file, line and sentence'),
  load_ms: z.number().describe('How long loading its file took'),
})
export type Plugin = z.infer<typeof Plugin>
