import { z } from '#kernel'
import type { MemoryRecord, MetadataFilter } from '../contract.ts'

/** A line of the file: a record, accesses to a record, or its removal. */
export const Line = z.union([
  z.object({
    memory_id: z.string(),
    thought: z.string(),
    metadata: z.record(z.string(), z.unknown()).default({}),
    ts: z.iso.datetime({ offset: true }),
    access_count: z.int().default(0),
    last_accessed: z.iso.datetime({ offset: true }).nullable().default(null),
    replaces: z.boolean().default(false),
  }),
  z.object({ memory_id: z.string(), accessed: z.string(), times: z.int().min(1).default(1) }),
  z.object({ memory_id: z.string(), forgotten: z.string() }),
])

/** A record with its document number in the index. */
export interface IndexedRecord extends MemoryRecord {
  doc: number
}

export function toRecord({ doc: _, ...record }: IndexedRecord): MemoryRecord {
  return record
}

/** Returns a test of whether the metadata of a record has one of the wanted values in each field. */
export function matcherOf(only: MetadataFilter = {}): (record: MemoryRecord) => boolean {
  const wanted = Object.entries(only).map(([key, value]) => [key, [value].flat()] as const)
  return ({ metadata }) => wanted.every(([key, values]) => values.includes(metadata[key] as string))
}

/** Returns the searchable words of a record: its thought and its metadata, without ids. */
export function wordsOf({ thought, metadata }: Pick<MemoryRecord, 'thought' | 'metadata'>): string {
  const words = Object.entries(metadata).filter(([key, value]) => typeof value === 'string' && !key.endsWith('_id'))
  return [thought, ...words.map(([, value]) => value)].join(' ')
}
