import { z } from '#kernel'

export const MemoryConfig = z.object({
  unified: z
    .boolean()
    .default(true)
    .describe(
      "One memory shared by pursuits and the toolkits memory and knowledge; false keeps the toolkits' data separately in plain JSON",
    ),
  held_agents: z
    .int()
    .min(1)
    .default(1_000)
    .describe('Maximum number of agents whose memory index is cached; the least recently used is evicted'),
  held_records: z
    .int()
    .min(0)
    .default(100_000)
    .describe('Maximum number of records in all cached indexes together; a single agent may have more'),
  consolidate_days: z
    .number()
    .min(0)
    .max(36_500)
    .default(0)
    .describe('Age in days from which rarely used records are removed, once a day; 0 removes none'),
  consolidate_min_access: z.int().min(0).default(2).describe('Number of accesses from which records are kept'),
})
export type MemoryConfig = z.infer<typeof MemoryConfig>
