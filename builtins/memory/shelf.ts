import { join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { type AgentMemory, lineOf, type Memory, type MemoryRecord, type Values } from './contract.ts'
import { admit, recalled } from './guarded.ts'
import { idOf } from './ids.ts'
import { Journal, type JournalParts } from './journal.ts'
import { readLegacy } from './legacy.ts'
import { Memories } from './memories.ts'
import { KEYED, rememberedValues, ValuesFile } from './values.ts'

/** So many agents' indexes are held, with so many records in all (about 120 MB); of the others the file is read again. */
const HELD_AGENTS = 1_000
const HELD_RECORDS = 100_000
/** What a prompt is given unless told: so many records, and so many characters of each. */
const RELEVANT = 3
const SNIPPET = 500

/** The memories of agents, each read when it is first needed. */
export class MemoryShelf implements Memory {
  readonly #svc: PluginHandle
  readonly #config: { readonly unified: boolean }
  /** The last used is the last. */
  readonly #held = new Map<string, Memories>()

  constructor(svc: PluginHandle, config: { readonly unified: boolean }) {
    this.#svc = svc
    this.#config = config
  }

  readonly idOf = idOf

  of(agent_id: string): AgentMemory {
    const memory = this.#held.get(agent_id) ?? this.#open(agent_id)
    this.#held.delete(agent_id)
    this.#held.set(agent_id, memory)
    let records = 0
    for (const each of this.#held.values()) records += each.size
    for (const [id, each] of this.#held) {
      if (id === agent_id || (this.#held.size <= HELD_AGENTS && records <= HELD_RECORDS)) break
      this.#held.delete(id)
      records -= each.size
    }
    return memory
  }

  values(agent_id: string): Values {
    if (this.#config.unified) return rememberedValues(this.of(agent_id))
    const file = join(this.#svc.project.svc, 'agent_memory', `${checked(agent_id)}.json`)
    return new ValuesFile(file, this.#parts, value => admit(this.#svc, agent_id, value))
  }

  file(agent_id: string, name: string): Values {
    return new ValuesFile(join(this.#folder(agent_id), `${checked(name)}.json`), this.#parts)
  }

  async relevant(agent_id: string, text: string, { limit = RELEVANT, counts = false } = {}): Promise<string[]> {
    const records = this.of(agent_id)
    const hits = counts ? await records.search(text, limit) : await records.look(text, limit)
    const snippets = await Promise.all(hits.map(hit => recalled(this.#svc, agent_id, snippetOf(hit))))
    return snippets.filter(snippet => snippet !== undefined)
  }

  /** Holds nothing of an agent that is gone. */
  drop(agent_id: string): void {
    this.#held.delete(agent_id)
  }

  #open(agent_id: string): Memories {
    const { ports, log, project } = this.#svc
    const journal = new Journal(join(this.#folder(agent_id), 'memories.jsonl'), this.#parts)
    const legacy = () => readLegacy(project.svc, agent_id, { files: ports.files, log })
    return new Memories(journal, ports, {
      admit: thought => admit(this.#svc, agent_id, thought),
      // Without the one memory the plain values stay where they are.
      ...(this.#config.unified ? { legacy } : {}),
    })
  }

  #folder(agent_id: string): string {
    return join(this.#svc.project.svc, 'memory', checked(agent_id))
  }

  get #parts(): JournalParts {
    const { ports, log } = this.#svc
    return { ports, log }
  }
}

/** Ids are ours; whatever is not is no place in the file system. */
function checked(id: string): string {
  if (!/^[\w-]{1,128}$/.test(id)) throw new TypeError(`"${id}" is no agent's id`)
  return id
}

function snippetOf({ thought, metadata: { kind, key } }: MemoryRecord): string {
  return lineOf(kind === KEYED ? `${key}: ${thought}` : thought, SNIPPET)
}
