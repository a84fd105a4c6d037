import { defineError, point, token, z } from '#kernel'
import type { ToolCall } from '#tools/toolkits/contract'

export { excerptOf, lineOf, partOf } from './search/excerpts.ts'

/** One memory of an agent. */
export const MemoryRecord = z.object({
  memory_id: z.string(),
  thought: z.string(),
  metadata: z.record(z.string(), z.unknown()).describe('Kind and origin of the record'),
  ts: z.iso.datetime().describe('When it was stored'),
  access_count: z.int(),
  last_accessed: z.iso.datetime().nullable(),
})
export type MemoryRecord = z.infer<typeof MemoryRecord>

/**
 * A record found by a search, with its similarity to the query, 0 to 1: the cosine by words, or the mean of the cosines
 * by words and by meaning.
 */
export type MemoryHit = MemoryRecord & { score: number }

type Metadata = Readonly<Record<string, unknown>>
/** Matches records whose metadata has these values, or one of several, such as `{ kind: 'note' }`. */
export type MetadataFilter = Readonly<Record<string, string | readonly string[]>>

/** The memory of one agent. Every method may wait for another process that writes in the same file. */
export interface AgentMemory {
  /**
   * Stores a thought.
   * @param memory_id makes a repetition harmless: a known id stores nothing new
   * @returns its id
   * @throws GuardrailBlockedError where guardrails check memories
   */
  store(thought: string, metadata?: Metadata, memory_id?: string): Promise<string>
  /**
   * Stores a thought under an id, replacing any record with it: the new one counts as newest, and keeps the access
   * count.
   */
  put(memory_id: string, thought: string, metadata?: Metadata): Promise<void>
  /**
   * Returns the records most similar to a query, best first; each counts as accessed.
   * @param except matches records that are left out
   */
  search(query: string, top_k?: number, only?: MetadataFilter, except?: MetadataFilter): Promise<MemoryHit[]>
  /** One record, which counts as accessed. */
  recall(memory_id: string): Promise<MemoryRecord | undefined>
  /** The newest record whose metadata has this value under this key, which counts as accessed. */
  findNamed(key: string, value: string): Promise<MemoryRecord | undefined>
  /** @deprecated Use `findNamed`. */
  named?: AgentMemory['findNamed']
  /** Like `search` and `recall`, for readers other than the agent: nothing counts as accessed. */
  look(query: string, top_k: number, except?: MetadataFilter): Promise<MemoryHit[]>
  peek(memory_id: string): Promise<MemoryRecord | undefined>
  /** @returns whether there was such a record */
  forget(memory_id: string): Promise<boolean>
  /** Removes records older than `max_age_days` and accessed less often than `min_access`. @returns how many */
  consolidate(max_age_days: number, min_access: number): Promise<number>
  /** Returns the newest records, newest first, after skipping `offset` of them. */
  recent(limit?: number, page?: { only?: MetadataFilter; offset?: number }): Promise<MemoryRecord[]>
  count(): Promise<number>
  /** Imports records unchanged, oldest first; a known id stores nothing new. @throws as `store` */
  take(records: readonly MemoryRecord[]): Promise<void>
}

/** The methods of a memory that the knowledge toolkit needs. */
export type Notes = Pick<AgentMemory, 'store' | 'put' | 'search' | 'recall' | 'forget' | 'recent'>

/**
 * Creates embeddings of texts, so that memories without a word of the query are found by meaning. Only one plugin may
 * add it. Vectors are stored beside the memory, and created again when `name` changes.
 */
export interface MemoryEmbeddings {
  /** Identifies everything that the vectors depend on, such as the model. */
  name: string
  /** Minimum cosine of a match; lower ones are random. Default: 0.3. */
  min_score?: number
  /**
   * Returns vectors of up to 64 texts, in their order and all of one length. If it throws, or takes longer than 10 s,
   * memories are searched by words alone for a minute.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>
}
export const MemoryEmbeddings = point<MemoryEmbeddings>('memory_embeddings', {
  key: embeddings => embeddings.name,
  has: { name: 'text', embed: 'function' },
  check({ name }, [other]) {
    if (name.trim() === '') throw new TypeError('Embeddings need a name, such as that of their model.')
    if (other)
      throw new TypeError(
        `"${other.owner}" already provides embeddings; disable one of the two plugins, because their vectors cannot be mixed.`,
      )
  },
})

/** String values by key; the last one set counts. */
export interface Values {
  get(key: string): Promise<string | undefined>
  /** @param metadata origin of the value, for stores that keep it */
  set(key: string, value: string, metadata?: Metadata): Promise<void>
  /** @returns whether there was such a key */
  remove(key: string): Promise<boolean>
  /** Returns the newest entries first. */
  entries(limit?: number): Promise<[key: string, value: string][]>
}

export interface Memory {
  /** Returns the id of a memory that is stored once: the same text, such as a call's id, gives the same id. */
  idOf(text: string): string
  /** @throws TypeError for an invalid agent id */
  of(agent_id: string): AgentMemory
  /** Returns the agent's values by key: in its memory, or in plain JSON where `memory.unified` is false. */
  values(agent_id: string): Values
  /** Returns the agent's notes, stored likewise. */
  notes(agent_id: string): Notes
  /** Returns metadata with the origin of a memory: goal, run and tool. */
  origin(call: Pick<ToolCall, 'goal_id'>, tool: string): Promise<Record<string, string>>
  /** Removes all memories of an agent. */
  clear(agent_id: string): Promise<void>
  /** Values in a file of their own beside the agent's memory, `<name>.json`. */
  file(agent_id: string, name: string): Values
  /**
   * Returns memories related to a text, most similar first, one line each, for prompts. Guardrails on memory check
   * them, but they may be written by others, so the prompt must fence them.
   * @param counts whether the memories count as accessed
   * @param except matches memories that are left out
   */
  relevant(
    agent_id: string,
    text: string,
    options?: { limit?: number; counts?: boolean; except?: MetadataFilter | undefined },
  ): Promise<string[]>
  /**
   * Returns what the agent and the operator stored last, in the form of `relevant`: the newest values by key, then the
   * newest records of the operator, then the agent's notes. Facts such as preferences are among them, of which a message
   * may have no word. Replacements may leave it out.
   */
  kept?(agent_id: string): Promise<string[]>
}
export const Memory = token<Memory>('memory', {
  idOf: 'function',
  of: 'function',
  values: 'function',
  notes: 'function',
  origin: 'function',
  clear: 'function',
  file: 'function',
  relevant: 'function',
})

declare module '#kernel' {
  interface Replaceable {
    memory: { memory: Memory }
  }
}

/** State that a memory hands over to its replacement. */
export interface MemoryState {
  /**
   * Yields all records agent by agent, oldest first. The new memory has stored those of one agent when it requests the
   * next; `removed` are ids to forget before, because they were forgotten or replaced after they were yielded.
   */
  records(): AsyncIterable<readonly [agent_id: string, records: readonly MemoryRecord[], removed?: readonly string[]]>
}
export const MemoryState = z.custom<MemoryState>(state => typeof Object(state).records === 'function')

export const MemoryNotFoundError = defineError({
  code: 'memory_not_found',
  status: 404,
  title: 'Memory not found',
  message: (p: { memory_id: string; agent_id: string }) =>
    `Agent ${p.agent_id} has no memory record "${p.memory_id}"; search with: svc memory ${p.agent_id} <words>`,
})
export const ValuesFullError = defineError({
  code: 'values_full',
  status: 409,
  title: 'Too many stored values',
  message: (p: { limit: number }) =>
    `The value cannot be stored: all values together may have at most ${p.limit} characters. Remove or shorten some first.`,
})
