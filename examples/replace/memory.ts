// Another memory: memories are stored in the project's database instead of files. It replaces the module `memory`,
// whose routes, commands and toolkits stay and use this one. Existing memories are taken over, in both directions.
import { definePlugin, type PluginHandle, Store } from 'svc'
import { excerptOf, type Memory, type MemoryRecord, MemoryState } from 'svc/memory'
import { getValue, setValue } from 'svc/store'

const NAMESPACE = 'memory-in-database'

export default definePlugin({
  name: NAMESPACE,
  description: 'Stores memories of agents in the database.',
  replaces: 'memory',
  needs: ['store', 'agents'],
  state: MemoryState,
  setup(svc) {
    const memory = new DatabaseMemory(svc)
    svc.handOver((): MemoryState => memory)
    svc.on('agent_deleted', ({ agent_id }) => memory.clear(agent_id))
    svc.start(async () => {
      const before = svc.previous as MemoryState | undefined
      if (before) for await (const [agent_id, records] of before.records()) await memory.of(agent_id).take(records)
    })
    return { memory }
  },
})

type AgentMemory = ReturnType<Memory['of']>
type Values = ReturnType<Memory['values']>

class DatabaseMemory implements Memory {
  readonly #svc: PluginHandle
  /** Queue of changes, which run one at a time. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  idOf(text: string): string {
    return `of-${text}`.slice(0, 128)
  }

  of(agent_id: string): AgentMemory {
    const read = () => this.#read<MemoryRecord>(agent_id)
    const change = <T>(edit: (records: MemoryRecord[]) => T) => this.#change<MemoryRecord, T>(agent_id, edit)
    const look: AgentMemory['look'] = async (query, top_k, only = {}) => nearest(await read(), query, top_k, only)
    const record = (memory_id: string, thought: string, metadata: object): MemoryRecord => {
      const ts = this.#svc.clock.now().toISOString()
      return { memory_id, thought, metadata: { ...metadata }, ts, access_count: 0, last_accessed: null }
    }
    const access = (find: (record: MemoryRecord) => boolean) =>
      change(records => {
        const found = records.findLast(find)
        if (found) Object.assign(found, { access_count: found.access_count + 1 })
        return found
      })
    return {
      store: (thought, metadata = {}, memory_id = this.#svc.ports.ids.make('mem', 12)) =>
        change(records => {
          if (!records.some(each => each.memory_id === memory_id)) records.push(record(memory_id, thought, metadata))
          return memory_id
        }),
      put: async (memory_id, thought, metadata = {}) => {
        await this.#remove(agent_id, [memory_id])
        await change(records => {
          const at = records.findIndex(each => each.memory_id === memory_id)
          const { access_count = 0 } = (at < 0 ? undefined : records.splice(at, 1)[0]) ?? {}
          records.push({ ...record(memory_id, thought, metadata), access_count })
        })
      },
      look,
      search: async (query, top_k = 5, only = {}) => {
        const hits = nearest(await read(), query, top_k, only)
        for (const { memory_id } of hits) await access(each => each.memory_id === memory_id)
        return hits
      },
      peek: async memory_id => (await read()).find(each => each.memory_id === memory_id),
      recall: memory_id => access(each => each.memory_id === memory_id),
      findNamed: (key, value) => access(({ metadata }) => metadata[key] === value),
      forget: async memory_id => (await this.#forget(agent_id, each => each.memory_id === memory_id)) > 0,
      consolidate: (max_age_days, min_access) => {
        const oldest = this.#svc.clock.ms() - max_age_days * 86_400_000
        return this.#forget(agent_id, each => Date.parse(each.ts) < oldest && each.access_count < min_access)
      },
      recent: async (limit = 10, { only = {}, offset = 0 } = {}) =>
        (await read())
          .filter(matches(only))
          .reverse()
          .slice(offset, offset + limit),
      count: async () => (await read()).length,
      take: given =>
        change(records => {
          const known = new Set(records.map(({ memory_id }) => memory_id))
          records.push(...given.filter(({ memory_id }) => !known.has(memory_id)))
          records.sort((a, b) => a.ts.localeCompare(b.ts))
        }),
    }
  }

  values(agent_id: string): Values {
    return this.file(agent_id, 'values')
  }

  notes(agent_id: string): AgentMemory {
    return this.of(agent_id)
  }

  file(agent_id: string, name: string): Values {
    const key = `${agent_id}/${name}`
    const change = <T>(edit: (entries: [string, string][]) => T) => this.#change<[string, string], T>(key, edit)
    return {
      get: async wanted => (await this.#read<[string, string]>(key)).find(([each]) => each === wanted)?.[1],
      set: (wanted, value) =>
        change(entries => {
          removeIf(entries, ([each]) => each === wanted)
          entries.push([wanted, value])
        }),
      remove: wanted => change(entries => removeIf(entries, ([each]) => each === wanted) > 0),
      entries: async (limit = 100) => (await this.#read<[string, string]>(key)).reverse().slice(0, limit),
    }
  }

  async origin({ goal_id }: { goal_id: string | null }, tool: string): Promise<Record<string, string>> {
    return goal_id ? { goal_id, tool } : { tool }
  }

  async relevant(agent_id: string, text: string, { limit = 3 } = {}): Promise<string[]> {
    const found = await this.of(agent_id).look(text, limit)
    return found.map(record => `${excerptOf(record, 500)} (${record.ts.slice(0, 10)})`)
  }

  async kept(agent_id: string): Promise<string[]> {
    const [values, notes] = await Promise.all([
      this.values(agent_id).entries(5),
      this.of(agent_id).recent(3, { only: { kind: 'note' } }),
    ])
    return [...values.map(([key, value]) => `${key}: ${value}`), ...notes.map(note => excerptOf(note, 500))]
  }

  async clear(agent_id: string): Promise<void> {
    for (const key of [agent_id, removedKey(agent_id)]) await this.#write(key, [])
  }

  /** Hands over all records and keeps none: what the new memory forgets does not come back from here. */
  async *records() {
    const agents = (await this.#svc.invoke('agents.list', {})) as { agent_id: string }[]
    for (const { agent_id } of agents) {
      const removed = await this.#read<string>(removedKey(agent_id))
      yield [agent_id, await this.#read<MemoryRecord>(agent_id), removed] as const
      await this.clear(agent_id)
    }
  }

  async #forget(agent_id: string, isUnwanted: (record: MemoryRecord) => boolean): Promise<number> {
    const unwanted = (await this.#read<MemoryRecord>(agent_id)).filter(isUnwanted).map(({ memory_id }) => memory_id)
    await this.#remove(agent_id, unwanted)
    return this.#change<MemoryRecord, number>(agent_id, records =>
      removeIf(records, ({ memory_id }) => unwanted.includes(memory_id)),
    )
  }

  /** Records the ids that the previous memory must forget when it takes over again. */
  #remove(agent_id: string, ids: readonly string[]): Promise<unknown> {
    return this.#change<string, void>(removedKey(agent_id), removed => {
      removed.push(...ids.filter(memory_id => !removed.includes(memory_id)))
    })
  }

  async #read<T>(key: string): Promise<T[]> {
    return ((await getValue(this.#svc.use(Store), { namespace: NAMESPACE, key })) ?? []) as T[]
  }

  async #write(key: string, value: unknown): Promise<void> {
    await this.#svc.use(Store).apply([setValue({ namespace: NAMESPACE, key, value })])
  }

  #change<T, R>(key: string, edit: (list: T[]) => R): Promise<R> {
    const done = this.#writing.then(async () => {
      const list = await this.#read<T>(key)
      const result = edit(list)
      await this.#write(key, list)
      return result
    })
    this.#writing = done.catch(() => {})
    return done
  }
}

function removedKey(agent_id: string): string {
  return `${agent_id}/removed`
}

function matches(only: object) {
  return ({ metadata }: MemoryRecord) => Object.entries(only).every(([key, value]) => metadata[key] === value)
}

/** Returns the records that share words with a query; the score is the share of the query's words. */
function nearest(records: readonly MemoryRecord[], query: string, top_k: number, only: object) {
  const words = wordsOf(query)
  return records
    .filter(matches(only))
    .map(record => {
      const own = new Set(wordsOf(record.thought))
      return { ...record, score: words.filter(word => own.has(word)).length / Math.max(words.length, 1) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, top_k)
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function removeIf<T>(list: T[], isUnwanted: (each: T) => boolean): number {
  const before = list.length
  list.splice(0, before, ...list.filter(each => !isUnwanted(each)))
  return before - list.length
}
