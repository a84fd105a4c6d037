import { z } from '#kernel'

export const FileConfig = z.object({
  file_max_read_bytes: z
    .int()
    .min(1)
    .default(10_000_000)
    .meta({ reload: 'restart_required' })
    .describe('Maximum size of a file that the file tools read, in bytes'),
  file_max_write_bytes: z
    .int()
    .min(1)
    .default(10_000_000)
    .meta({ reload: 'restart_required' })
    .describe('Maximum size of a file that the file tools write, in bytes'),
})
export type FileConfig = z.infer<typeof FileConfig>
