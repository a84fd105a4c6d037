import { z } from '#kernel'

export const FileConfig = z.object({
  file_max_read_bytes: z
    .number()
    .int()
    .min(1)
    .default(10_000_000)
    .meta({ reload: 'restart_required' })
    .describe('Largest file that the file tools read'),
  file_max_write_bytes: z
    .number()
    .int()
    .min(1)
    .default(10_000_000)
    .meta({ reload: 'restart_required' })
    .describe('Largest file that the file tools write'),
})
export type FileConfig = z.infer<typeof FileConfig>
