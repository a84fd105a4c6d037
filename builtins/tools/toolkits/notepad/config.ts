import { z } from '#kernel'

export const NotepadConfig = z.object({
  notepad_shared: z
    .boolean()
    .default(false)
    .meta({ reload: 'restart_required' })
    .describe("Whether agents may read each other's notepads"),
  notepad_max_bytes: z
    .int()
    .min(1_000)
    .default(1_000_000)
    .meta({ reload: 'restart_required' })
    .describe('Maximum size of one notepad, in bytes'),
})
export type NotepadConfig = z.infer<typeof NotepadConfig>
