import { defineError, token, z } from '#kernel'

/** One thing that an agent remembers. */
export const MemoryRecord = z.object({
  memory_id: z.string(),
  thought: z.string(),
  metadata: z.record(z.string(), z.unknown()).describe('What kind of thing it is, and where it comes from'),
  ts: z.iso.datetime().describe('When it was stored'),
  access_count: z.number().int(),
  last_accessed: z.iso.datetime().nullable(),
})
export type MemoryRecord = z.infer<typeof MemoryRecord>

/** A record that a search found, with the cosine of its angle to the query: 0 to 1. */
export type MemoryHit = MemoryRecord & { score: number }

/** The memory of one agent. Every method may wait for another process that writes in the same file. */
export interface AgentMemory {
  /**
   * Remembers a thought.
   * @param memory_id makes a repetition harmless: an id that is known already stores nothing anew
   * @returns its id
   */
  store(thought: string, metadata?: Readonly<Record<string, unknown>>, memory_id?: string): Promise<string>
  /** The records nearest to a query, best first; each counts as accessed. */
  search(query: string, top_k?: number): Promise<MemoryHit[]>
  /** One record, which counts as accessed. */
  recall(memory_id: string): Promise<MemoryRecord | undefined>
  /** The newest record whose metadata has this value under this key, which counts as accessed. */
  named(key: string, value: string): Promise<MemoryRecord | undefined>
  /** The same as `search` and `recall` for whoever looks on from outside: nothing counts as accessed. */
  look(query: string, top_k: number): Promise<MemoryHit[]>
  peek(memory_id: string): Promise<MemoryRecord | undefined>
  /** @returns whether there was such a record */
  forget(memory_id: string): Promise<boolean>
  /** Removes what is older than so many days and was accessed less often than that. @returns how many went */
  consolidate(max_age_days: number, min_access: number): Promise<number>
  /** The newest, newest first. */
  recent(limit?: number): Promise<MemoryRecord[]>
  count(): Promise<number>
}

export interface Memory {
  /** @throws for an id that is no agent's */
  of(agent_id: string): AgentMemory
}
export const Memory = token<Memory>('memory')

export const MemoryNotFoundError = defineError({
  code: 'memory_not_found',
  status: 404,
  title: 'Memory not found',
  sentence: (p: { memory_id: string; agent_id: string }) =>
    `Agent ${p.agent_id} remembers nothing under "${p.memory_id}"; search with: svc memory ${p.agent_id} <words>`,
})
