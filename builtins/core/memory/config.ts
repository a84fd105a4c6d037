import { z } from '#kernel'

export const MemoryConfig = z.object({
  unified: z
    .boolean()
    .default(true)
    .describe(
      'One memory for the toolkits memory and knowledge and for pursuits; false keeps theirs apart in plain JSON',
    ),
  held_agents: z.number().int().min(1).default(1_000).describe('Agents whose index is held; the least used is let go'),
  held_records: z
    .number()
    .int()
    .min(0)
    .default(100_000)
    .describe('Records in all indexes that are held together; one agent may have more'),
  consolidate_days: z
    .number()
    .min(0)
    .max(36_500)
    .default(0)
    .describe('Once a day, records older than this and hardly used are removed; 0 removes none'),
  consolidate_min_access: z
    .number()
    .int()
    .min(0)
    .default(2)
    .describe('Records with at least this number of accesses stay'),
})
export type MemoryConfig = z.infer<typeof MemoryConfig>
