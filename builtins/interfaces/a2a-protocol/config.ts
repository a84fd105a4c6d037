import { z } from '#kernel'

/** The section `a2a.public`, read only at startup. */
export const PublicConfig = z.object({
  enabled: z
    .boolean()
    .default(false)
    .describe('Whether agents of others may find ours and give them tasks, by the Agent2Agent protocol'),
  agent: z
    .string()
    .max(128)
    .default('')
    .describe('The agent that answers at /a2a; without one the only live agent, if there is just one'),
  url: z
    .string()
    .refine(text => text === '' || /^https?:\/\/[^\s/]+(\/\S*)?$/.test(text), 'must be an http or https URL')
    .default('')
    .describe('Address of this server in agent cards, behind a proxy (default: as the client wrote it)'),
})
export type PublicConfig = z.infer<typeof PublicConfig>
