import { z } from '#kernel'

export const ClipboardConfig = z.object({
  host_clipboard: z
    .boolean()
    .default(false)
    .meta({ reload: 'restart_required' })
    .describe("Whether agents use the machine's clipboard instead of a separate one for each agent"),
})
