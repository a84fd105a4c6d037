import { defineError, point, token, z } from '#kernel'
import type { ToolCall } from '#tools/toolkits/contract'

export { lineOf, partOf } from './search/excerpts.ts'

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

/** A record that a search found, with how near it is to the query, 0 to 1: a cosine, or the mean of that of the words and that of the meaning. */
export type MemoryHit = MemoryRecord & { score: number }

type Metadata = Readonly<Record<string, unknown>>
/** Only records whose metadata has these values, as in `{ kind: 'note' }`. */
export type MetadataFilter = Readonly<Record<string, string>>

/** The memory of one agent. Every method may wait for another process that writes in the same file. */
export interface AgentMemory {
  /**
   * Remembers a thought.
   * @param memory_id makes a repetition harmless: an id that is known already stores nothing anew
   * @returns its id
   * @throws GuardrailBlockedError where guardrails watch what is remembered
   */
  store(thought: string, metadata?: Metadata, memory_id?: string): Promise<string>
  /** The same in place of what stands under the id, if anything does: it is then the newest, and as often used as before. */
  put(memory_id: string, thought: string, metadata?: Metadata): Promise<void>
  /** The records nearest to a query, best first; each counts as accessed. */
  search(query: string, top_k?: number, only?: MetadataFilter): Promise<MemoryHit[]>
  /** One record, which counts as accessed. */
  recall(memory_id: string): Promise<MemoryRecord | undefined>
  /** The newest record whose metadata has this value under this key, which counts as accessed. */
  findNamed(key: string, value: string): Promise<MemoryRecord | undefined>
  /** @deprecated Use `findNamed`. */
  named?: AgentMemory['findNamed']
  /** The same as `search` and `recall` for readers from outside: nothing counts as accessed. */
  look(query: string, top_k: number): Promise<MemoryHit[]>
  peek(memory_id: string): Promise<MemoryRecord | undefined>
  /** @returns whether there was such a record */
  forget(memory_id: string): Promise<boolean>
  /** Removes records older than this number of days and accessed less often than that. @returns how many */
  consolidate(max_age_days: number, min_access: number): Promise<number>
  /** The newest, newest first; `offset` of them are left out. */
  recent(limit?: number, page?: { only?: MetadataFilter; offset?: number }): Promise<MemoryRecord[]>
  count(): Promise<number>
  /** Takes records over from elsewhere as they are, oldest first; an id that is known already stores nothing anew. @throws as `store` */
  take(records: readonly MemoryRecord[]): Promise<void>
}

/** What the knowledge toolkit needs of a memory. */
export type Notes = Pick<AgentMemory, 'store' | 'put' | 'search' | 'recall' | 'forget' | 'recent'>

/**
 * Makes vectors of the meaning of texts, so that memories are found that share no word with a query. One plugin may add
 * it; vectors are
 * kept beside the memory, and made again when the name changes.
 */
export interface MemoryEmbeddings {
  /** Names whatever the vectors depend on, such as the model. */
  name: string
  /** Cosines below this are chance. Default: 0.3. */
  min_score?: number
  /**
   * Vectors for up to 64 texts, in their order and all of one length. When it throws, or takes longer than 10 s, memories
   * are found by their words alone for a minute.
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
        `"${other.owner}" gives embeddings already; switch one of them off, since vectors do not mix.`,
      )
  },
})

/** Texts by key, each as it was set last. */
export interface Values {
  get(key: string): Promise<string | undefined>
  /** @param metadata where it comes from, for those who keep it */
  set(key: string, value: string, metadata?: Metadata): Promise<void>
  /** @returns whether there was such a key */
  remove(key: string): Promise<boolean>
  /** The newest first. */
  entries(limit?: number): Promise<[key: string, value: string][]>
}

export interface Memory {
  /** The id of what is remembered once: the same text, such as that of a call's id, gives the same id. */
  idOf(text: string): string
  /** @throws for an id that is no agent's */
  of(agent_id: string): AgentMemory
  /** What the agent keeps under keys: in its memory, or in plain JSON where `memory.unified` is false. */
  values(agent_id: string): Values
  /** Its notes, likewise. */
  notes(agent_id: string): Notes
  /** Metadata that tell where something comes from: goal, run and tool. */
  origin(call: Pick<ToolCall, 'goal_id'>, tool: string): Promise<Record<string, string>>
  /** Removes all that an agent remembers. */
  clear(agent_id: string): Promise<void>
  /** Values in a file of their own beside the agent's memory, `<name>.json`. */
  file(agent_id: string, name: string): Values
  /**
   * What an agent remembers that bears on a text, nearest first, a line each, for its prompts: checked by guardrails that
   * watch the memory, but as the agent or others wrote it, and so to be fenced.
   * @param counts whether the memories count as accessed
   */
  relevant(agent_id: string, text: string, options?: { limit?: number; counts?: boolean }): Promise<string[]>
}
export const Memory = token<Memory>('memory')

declare module '#kernel' {
  interface Replaceable {
    memory: { memory: Memory }
  }
}

/** What one memory hands over to the one that takes its place. */
export interface MemoryState {
  /**
   * Yields all records agent by agent, the oldest first. The next memory has stored those of one agent when it asks for the
   * next; `removed` are ids of records to forget before that: those that were forgotten or written anew since they were taken.
   */
  records(): AsyncIterable<readonly [agent_id: string, records: readonly MemoryRecord[], removed?: readonly string[]]>
}
export const MemoryState = z.custom<MemoryState>(state => typeof Object(state).records === 'function')

export const MemoryNotFoundError = defineError({
  code: 'memory_not_found',
  status: 404,
  title: 'Memory not found',
  message: (p: { memory_id: string; agent_id: string }) =>
    `Agent ${p.agent_id} remembers nothing under "${p.memory_id}"; search with: svc memory ${p.agent_id} <words>`,
})
export const ValuesFullError = defineError({
  code: 'values_full',
  status: 409,
  title: 'Values full',
  message: (p: { limit: number }) =>
    `There is no room for more: all values together have at most ${p.limit} characters; remove some or shorten them first.`,
})
