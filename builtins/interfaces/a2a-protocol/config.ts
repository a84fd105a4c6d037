import { z } from '#kernel'

/** The section `a2a.public`, read only at startup. */
export const PublicConfig = z.object({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'Whether external agents may discover the agents of this service and send them tasks, by the Agent2Agent protocol',
    ),
  agent: z
    .string()
    .max(128)
    .default('')
    .describe('Agent that answers at /a2a (default: the only live agent, if there is exactly one)'),
  url: z
    .string()
    .refine(text => text === '' || /^https?:\/\/[^\s/]+(\/\S*)?$/.test(text), 'must be an http or https URL')
    .default('')
    .describe(
      'URL of this server behind a proxy, for agent cards (default: the URL that the client used) and links in notifications (default: none)',
    ),
})
export type PublicConfig = z.infer<typeof PublicConfig>
