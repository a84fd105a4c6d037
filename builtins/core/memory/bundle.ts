import type { BundlePart } from '#core/checkpoints/contract'
import { z } from '#kernel'
import { type Memory, MemoryRecord } from './contract.ts'

/** Maximum number of memories in a bundle; the newest are exported. */
const MOST_RECORDS = 100_000

const Records = z
  .array(
    MemoryRecord.extend({
      memory_id: z.string().min(1).max(128),
      thought: z.string().max(1_000_000),
      access_count: z.int().min(0),
    }),
  )
  .max(MOST_RECORDS)
  .refine(all => new Set(all.map(({ memory_id }) => memory_id)).size === all.length, 'has a memory_id twice')
type Records = z.infer<typeof Records>

/** Memories of an agent, oldest first. An import writes the file before the agent exists, so that no agent lacks it. */
export function memoryBundle(memory: Memory): BundlePart {
  const part: BundlePart<Records> = {
    name: 'memory',
    schema: Records,
    async pack(agent_id) {
      const records = await memory.of(agent_id).recent(MOST_RECORDS)
      return records.length > 0 ? records.reverse() : undefined
    },
    async unpack(agent_id, records, ids) {
      const undo = () => memory.clear(agent_id)
      try {
        await memory
          .of(agent_id)
          .take(records.map(record => ({ ...record, metadata: renameIds(record.metadata, ids) })))
      } catch (error) {
        await undo()
        throw error
      }
      return { effects: [], undo }
    },
  }
  return part as BundlePart
}

/** Returns the source of a memory with the ids of this project. */
function renameIds(metadata: MemoryRecord['metadata'], ids: ReadonlyMap<string, string>): MemoryRecord['metadata'] {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [
      key,
      typeof value === 'string' ? (ids.get(value) ?? value) : value,
    ]),
  )
}
