import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { brief } from '#lib/brief'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { GuardrailBlockedError } from '#safety/guardrails/contract'
import { Memory, MemoryNotFoundError, MemoryRecord } from './contract.ts'

const id = AgentRef
const memory_id = idSchema('Id of the memory record', 'mem-1a2b3c4d5e6f7a8b')
const MAX_HITS = 1000
const LONGEST_THOUGHT = 10_000

async function find(svc: PluginHandle, ref: string) {
  const { agent_id } = await svc.use(Agents).find(ref)
  return { agent_id, records: svc.use(Memory).of(agent_id) }
}

/** Reports that the agent was deleted meanwhile, if that made the operation fail. */
const within = <T>(svc: PluginHandle, agent_id: string, work: Promise<T>): Promise<T> =>
  work.catch(async error => {
    await svc.use(Agents).find(agent_id)
    throw error
  })

const found = [AgentNotFoundError, AmbiguousAgentError]

export const memoryList = operation({
  name: 'memory.list',
  summary: "Search an agent's memory",
  description: 'Returns the records most similar to the query first; without a query, the newest first.',
  input: Page.extend({ id, query: z.string().trim().min(1).max(2000).optional().describe('Words to search for') }),
  output: z.array(
    MemoryRecord.extend({
      score: z.number().nullable().describe('Similarity to the query, from 0 to 1; null without a query'),
    }),
  ),
  http: { method: 'GET', path: '/agents/{id}/memory' },
  cli: { usage: 'memory <id> [query]', short: { limit: 'n' } },
  mcp: true,
  errors: found,
  async run({ id, query, limit, offset }, { svc }) {
    const { records } = await find(svc, id)
    const wanted = limit === undefined ? Number.POSITIVE_INFINITY : offset + limit
    const all = query
      ? (await records.look(query, Math.min(wanted, MAX_HITS))).slice(offset)
      : await records.recent(wanted - offset, { offset })
    return all.map(record => ({ score: null, ...record }))
  },
  count: async ({ id, query }, { svc }) => {
    const { records } = await find(svc, id)
    return query ? (await records.look(query, MAX_HITS)).length : records.count()
  },
  render: records => records.map(line).join('\n') || 'no memories yet',
})

export const memoryGet = operation({
  name: 'memory.get',
  summary: 'Show a memory record',
  description: 'Returns the record with its number of accesses and the time of the last one.',
  input: z.object({ id, memory_id }),
  output: MemoryRecord,
  http: { method: 'GET', path: '/agents/{id}/memory/{memory_id}' },
  mcp: true,
  errors: [...found, MemoryNotFoundError],
  async run({ id, memory_id }, { svc }) {
    const { agent_id, records } = await find(svc, id)
    const record = await within(svc, agent_id, records.peek(memory_id))
    if (!record) throw new MemoryNotFoundError({ memory_id, agent_id })
    return record
  },
})

export const memoryAdd = operation({
  name: 'memory.add',
  summary: "Add a record to an agent's memory",
  description:
    'Prompts show the three newest of these records, and others whose words are similar. What should always hold belongs in its role (agents.update) or its profile.',
  input: z.strictObject({
    id,
    thought: z
      .string()
      .trim()
      .min(1)
      .max(LONGEST_THOUGHT)
      .meta({ examples: ['The staging server is called birch.'] })
      .describe('What the agent should remember'),
  }),
  output: MemoryRecord,
  http: {
    method: 'POST',
    path: '/agents/{id}/memory',
    status: 201,
    idempotent: true,
  },
  cli: { usage: 'memory add <id> <thought...>' },
  mcp: true,
  errors: [...found, MemoryNotFoundError, GuardrailBlockedError],
  async run({ id, thought }, { svc }) {
    const { agent_id, records } = await find(svc, id)
    const memory_id = await within(svc, agent_id, records.store(thought, { kind: 'operator' }))
    const record = await within(svc, agent_id, records.peek(memory_id))
    // The agent may have been deleted meanwhile.
    if (!record) throw new MemoryNotFoundError({ memory_id, agent_id })
    return record
  },
  render: ({ memory_id }) => `${memory_id}: stored`,
})

export const memoryForget = operation({
  name: 'memory.forget',
  summary: 'Delete a memory record',
  description: 'Removes the record permanently.',
  input: z.object({ id, memory_id }),
  output: z.null(),
  http: { method: 'DELETE', path: '/agents/{id}/memory/{memory_id}', status: 204 },
  cli: { usage: 'memory forget <id> <memory_id>' },
  mcp: true,
  errors: [...found, MemoryNotFoundError],
  async run({ id, memory_id }, { svc }) {
    const { agent_id, records } = await find(svc, id)
    if (!(await within(svc, agent_id, records.forget(memory_id))))
      throw new MemoryNotFoundError({ memory_id, agent_id })
    return null
  },
  render: () => 'forgotten',
})

export const memoryConsolidate = operation({
  name: 'memory.consolidate',
  summary: 'Remove old and rarely used memories',
  description:
    'Removes records that are older than the given days and were recalled less often than the given number of times.',
  input: z.strictObject({
    id,
    max_age_days: z.number().min(0).max(36_500).default(30).describe('Minimum age of removed records, in days'),
    min_access: z.int().min(0).default(2).describe('Number of accesses from which records are kept'),
  }),
  output: z.object({ removed: z.int() }),
  http: { method: 'POST', path: '/agents/{id}/memory/consolidate' },
  cli: { usage: 'memory consolidate <id>' },
  mcp: true,
  errors: found,
  async run({ id, max_age_days, min_access }, { svc }) {
    const { agent_id, records } = await find(svc, id)
    return { removed: await within(svc, agent_id, records.consolidate(max_age_days, min_access)) }
  },
  render: ({ removed }) => `${removed} records removed`,
})

export const memoryOperations = [memoryList, memoryGet, memoryAdd, memoryForget, memoryConsolidate]

function line({ memory_id, ts, thought, metadata, score }: MemoryRecord & { score: number | null }): string {
  const near = score === null ? '' : ` ${score.toFixed(2)}`
  const key = typeof metadata.key === 'string' ? `${metadata.key}: ` : ''
  return `${memory_id}  ${ts.slice(0, 16).replace('T', ' ')}${near}  ${brief(`${key}${thought}`)}`
}
