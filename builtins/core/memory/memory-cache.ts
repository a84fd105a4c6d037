import { join, relative } from 'node:path'
import { Agents } from '#core/agents/contract'
import { errorMessage, type PluginHandle, type z } from '#kernel'
import { SharedFiles, Store } from '#platform/store/contract'
import type { MemoryConfig } from './config.ts'
import {
  type AgentMemory,
  excerptOf,
  type Memory,
  MemoryEmbeddings,
  type MemoryHit,
  type MemoryRecord,
  type Notes,
  type Values,
} from './contract.ts'
import { Journal, type JournalParts, type Lines } from './files/journal.ts'
import { JsonFile } from './files/json-file.ts'
import { notesFile, readLegacy, valuesFile } from './files/legacy.ts'
import { SharedJournal } from './files/shared-journal.ts'
import { admit, recallText } from './guarded.ts'
import { idOf } from './ids.ts'
import { Memories } from './memories.ts'
import { PlainNote, PlainNotes } from './notes.ts'
import { runOf } from './repository.ts'
import { GOAL } from './search/excerpts.ts'
import { VectorIndex } from './search/vector-index.ts'
import { KEYED, PlainValue, PlainValues, rememberedValues } from './values.ts'

/** Defaults for prompts: number of memories, and maximum characters of each. */
const RELEVANT = 3
const SNIPPET = 500
/** Kinds of records that agents and operators store, the first shown first, each with the number shown; and their characters. */
const KEPT = [
  [KEYED, 5],
  ['operator', 3],
  ['note', 3],
] as const
const KEPT_CHARS = 1_500
/** Number of such records that are read at once, in one look at the file. */
const KEPT_READ = 200

/** Number of records looked at for each one that is returned, because goals of a schedule may repeat. */
const CANDIDATES = 4

/** Keeps only the newest of the goals with the same objective, such as those of a schedule, at the place of the best. */
function withoutRepeats(hits: readonly MemoryHit[]): MemoryHit[] {
  const newest = new Map<string, MemoryHit>()
  for (const hit of hits) {
    const aim = hit.metadata.kind === GOAL ? hit.thought.split('\n', 1)[0]! : hit.memory_id
    const other = newest.get(aim)
    if (!other || hit.ts > other.ts) newest.set(aim, hit)
  }
  return [...newest.values()]
}

/** The memories of agents, each loaded at its first use. */
export class MemoryCache implements Memory {
  readonly #svc: PluginHandle
  readonly #config: MemoryConfig
  /** In order of use, most recent last. */
  readonly #held = new Map<string, Memories>()
  /** Pending writes of evicted memories. */
  readonly #leaving = new Set<Promise<void>>()

  constructor(svc: PluginHandle, config: MemoryConfig) {
    this.#svc = svc
    this.#config = config
  }

  readonly idOf = idOf

  of(agent_id: string): AgentMemory {
    const memory = this.#held.get(agent_id) ?? this.#open(agent_id)
    this.#held.delete(agent_id)
    this.#held.set(agent_id, memory)
    const { held_agents, held_records } = this.#config
    let records = 0
    for (const each of this.#held.values()) records += each.size
    for (const [id, each] of this.#held) {
      if (id === agent_id || (this.#held.size <= held_agents && records <= held_records)) break
      this.#held.delete(id)
      records -= each.size
      this.#letGo(id, each)
    }
    return memory
  }

  values(agent_id: string): Values {
    if (this.#config.unified) return rememberedValues(this.of(agent_id))
    const file = this.#json(valuesFile(this.#svc.project.svc, checkId(agent_id)), PlainValue)
    return new PlainValues(file, value => admit(this.#svc, agent_id, value))
  }

  notes(agent_id: string): Notes {
    if (this.#config.unified) return this.of(agent_id)
    const file = this.#json(notesFile(this.#svc.project.svc, checkId(agent_id)), PlainNote)
    return new PlainNotes(file, this.#svc.ports, thought => admit(this.#svc, agent_id, thought))
  }

  file(agent_id: string, name: string): Values {
    return new PlainValues(this.#json(join(this.#folder(agent_id), `${checkId(name)}.json`), PlainValue))
  }

  async origin({ goal_id }: { goal_id: string | null }, tool: string): Promise<Record<string, string>> {
    if (!goal_id) return { tool }
    const run_id = await runOf(this.#svc.use(Store))
    return { goal_id, ...(run_id ? { run_id } : {}), tool }
  }

  async relevant(
    agent_id: string,
    text: string,
    { limit = RELEVANT, counts = false, except }: Parameters<Memory['relevant']>[2] = {},
  ): Promise<string[]> {
    const records = this.of(agent_id)
    const hits = withoutRepeats(await records.look(text, limit * CANDIDATES, except)).slice(0, limit)
    if (counts) for (const { memory_id } of hits) await records.recall(memory_id)
    return this.#snippets(agent_id, hits)
  }

  async kept(agent_id: string): Promise<string[]> {
    if (!this.#config.unified) return []
    const records = this.of(agent_id)
    const newest = await records.recent(KEPT_READ, { only: { kind: KEPT.map(([kind]) => kind) } })
    const shown = KEPT.flatMap(([kind, limit]) =>
      newest.filter(({ metadata }) => metadata.kind === kind).slice(0, limit),
    )
    let left = KEPT_CHARS
    return (await this.#snippets(agent_id, shown)).filter(({ length }) => {
      left -= length
      return left >= 0
    })
  }

  /** Returns records as lines for a prompt, without those that guardrails block. */
  async #snippets(agent_id: string, records: readonly MemoryRecord[]): Promise<string[]> {
    const snippets = await Promise.all(records.map(record => recallText(this.#svc, agent_id, snippetOf(record))))
    return snippets.filter(snippet => snippet !== undefined)
  }

  async clear(agent_id: string): Promise<void> {
    this.drop(agent_id)
    await this.#svc.ports.files.rm(this.#folder(agent_id), { recursive: true, force: true })
  }

  /** Returns the memories of all agents, for a module that replaces this one. */
  async *records() {
    for (const { agent_id } of await this.#svc.use(Agents).list({ limit: Number.MAX_SAFE_INTEGER })) {
      const records = await this.of(agent_id).recent(Number.POSITIVE_INFINITY)
      yield [agent_id, records.reverse()] as const
    }
  }

  /** Evicts a deleted agent. */
  drop(agent_id: string): void {
    this.#held.get(agent_id)?.drop()
    this.#held.delete(agent_id)
  }

  /** Evicts all memories, and waits until pending accesses are written. */
  async flush(): Promise<void> {
    for (const [agent_id, each] of this.#held) this.#letGo(agent_id, each)
    await Promise.all(this.#leaving)
  }

  #letGo(agent_id: string, memory: Memories): void {
    const left = memory
      .flush()
      .catch(error =>
        this.#svc.log.warn({ agent_id }, `cannot count the accesses to the agent's memory: ${errorMessage(error)}`),
      )
      .finally(() => this.#leaving.delete(left))
    this.#leaving.add(left)
  }

  #open(agent_id: string): Memories {
    const { ports, log, project } = this.#svc
    const folder = this.#folder(agent_id)
    const backend = () => this.#svc.list(MemoryEmbeddings)[0]
    return new Memories(this.#lines(join(folder, 'memories.jsonl')), ports, {
      admit: thought => admit(this.#svc, agent_id, thought),
      meanings: new VectorIndex(this.#lines(join(folder, 'vectors.jsonl')), backend, {
        clock: ports.clock,
        log,
      }),
      // Without the unified memory, plain JSON data stays where it is.
      ...(this.#config.unified
        ? { legacy: () => readLegacy(project.svc, agent_id, { files: ports.files, log, shared: this.#sharedFiles }) }
        : {}),
    })
  }

  /** Returns the storage: a file, or the database of several machines. */
  #lines(file: string): Lines {
    const shared = this.#sharedFiles
    return shared ? new SharedJournal(shared, relative(this.#svc.project.svc, file)) : new Journal(file, this.#parts)
  }

  get #sharedFiles(): SharedFiles | undefined {
    return this.#svc.has(SharedFiles) ? this.#svc.use(SharedFiles) : undefined
  }

  #json<T>(file: string, thing: z.ZodType<T>): JsonFile<T> {
    const shared = this.#sharedFiles
    const elsewhere = shared ? { shared, path: relative(this.#svc.project.svc, file) } : undefined
    return new JsonFile(file, thing, this.#parts, elsewhere)
  }

  #folder(agent_id: string): string {
    return join(this.#svc.project.svc, 'memory', checkId(agent_id))
  }

  get #parts(): JournalParts {
    const { ports, log } = this.#svc
    return { ports: { ...ports, files: ports.ownFiles }, log }
  }
}

/** Returns the id. @throws TypeError if it is no agent id, so that it cannot be a path */
function checkId(id: string): string {
  if (!/^[\w-]{1,128}$/.test(id)) throw new TypeError(`"${id}" is not a valid agent id`)
  return id
}

/** Returns a memory as one line with its date, because what it says may no longer be true. */
function snippetOf(record: MemoryRecord): string {
  const { thought, metadata, ts } = record
  const named = metadata.kind === KEYED ? { metadata, thought: `${metadata.key}: ${thought}` } : record
  return `${excerptOf(named, SNIPPET)} (${ts.slice(0, 10)})`
}
