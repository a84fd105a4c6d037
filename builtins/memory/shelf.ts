import { join } from 'node:path'
import type { PluginHandle } from '#kernel'
import type { AgentMemory, Memory } from './contract.ts'
import { Journal } from './journal.ts'
import { readLegacy } from './legacy.ts'
import { Memories } from './memories.ts'

/** So many agents' indexes are held; of the others the file is read again. */
const HELD = 64

/** The memories of agents, each read when it is first needed. */
export class MemoryShelf implements Memory {
  readonly #svc: PluginHandle
  /** The last used is the last. */
  readonly #held = new Map<string, AgentMemory>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  of(agent_id: string): AgentMemory {
    // Ids are ours; whatever is not is no place in the file system.
    if (!/^[\w-]{1,128}$/.test(agent_id)) throw new TypeError(`"${agent_id}" is no agent's id`)
    const memory = this.#held.get(agent_id) ?? this.#open(agent_id)
    this.#held.delete(agent_id)
    this.#held.set(agent_id, memory)
    const [oldest] = this.#held.keys()
    if (this.#held.size > HELD && oldest !== undefined) this.#held.delete(oldest)
    return memory
  }

  #open(agent_id: string): AgentMemory {
    const { ports, log, project } = this.#svc
    const journal = new Journal(join(project.svc, 'memory', agent_id, 'memories.jsonl'), { ports, log })
    return new Memories(journal, ports, () => readLegacy(project.svc, agent_id, { files: ports.files, log }))
  }
}
