import { z } from '#kernel'

export const ClipboardConfig = z.object({
  host_clipboard: z
    .boolean()
    .default(false)
    .meta({ reload: 'restart_required' })
    .describe("Whether agents read and write the machine's own clipboard rather than one of their own"),
})
