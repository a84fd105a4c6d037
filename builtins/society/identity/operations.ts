import { AgentNotFoundError, AgentRef, AgentStatus, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { Page, pageOf } from '#lib/list'
import { pluralize } from '#lib/pluralize'
import { Identity, IdentityRecord } from './contract.ts'
import { JournalHead, OwnJournals } from './journals.ts'

const id = AgentRef
const errors = [AgentNotFoundError, AmbiguousAgentError]

const Life = z
  .looseObject({
    agent_id: z.string(),
    display_name: z.string(),
    name: z.string(),
    status: AgentStatus,
    born_at: z.iso.datetime(),
    died_at: z.iso.datetime().nullable(),
    cycles_lived: z.int(),
    goals_completed: z.int(),
    goals_unconfirmed: z.int().describe('Number of the completed goals that ended without finish_goal'),
    goals_abandoned: z.int(),
  })
  .describe("Summary of an agent's life, including facts from other modules")
const Journal = z.object({
  agent_id: z.string(),
  text: z.string().describe('Text of the journal; only its end when it is long'),
  bytes: z.int().describe('Size of the whole journal, in bytes'),
  modified_at: z.iso.datetime().nullable().describe('Time of the last change; null when nothing was written yet'),
})

const find = (svc: PluginHandle, ref: string) => svc.use(Agents).find(ref)

export const identityGet = operation({
  name: 'identity.get',
  summary: "Show an agent's story, opinions and questions",
  description:
    'Returns the story, worldview, opinions and open questions that the agent wrote, and how they changed over time.',
  input: z.object({ id }),
  output: IdentityRecord,
  http: { method: 'GET', path: '/agents/{id}/identity' },
  cli: { usage: 'identity <id>' },
  mcp: true,
  errors,
  run: async ({ id }, { svc }) => svc.use(Identity).of(await find(svc, id)),
})

export const identityBiography = operation({
  name: 'identity.biography',
  summary: "Show an agent's biography as Markdown",
  description: "Returns the story, goals and events of the agent's life on one page.",
  input: z.object({ id }),
  output: z.string().meta({ examples: ['# coder\n\nA coder since 2026-01-31.\n'] }),
  http: { method: 'GET', path: '/agents/{id}/biography', produces: 'text/markdown; charset=utf-8' },
  cli: { usage: 'biography <id>' },
  mcp: true,
  errors,
  run: async ({ id }, { svc }) => svc.use(Identity).biography(await find(svc, id)),
  render: text => text,
})

export const identityLives = operation({
  name: 'identity.lives',
  summary: 'List the lives of all agents, oldest first',
  description: 'Dead agents are included.',
  input: Page,
  output: z.array(Life),
  http: { method: 'GET', path: '/lives' },
  cli: { usage: 'lives', short: { limit: 'n' } },
  mcp: true,
  async run({ limit, offset }, { svc }) {
    const lives: z.input<typeof Life>[] = []
    for (const agent of await svc.use(Agents).list({ limit, offset })) {
      lives.push((await svc.use(Identity).summary(agent)) as z.input<typeof Life>)
      await svc.clock.yield()
    }
    return lives
  },
  count: async (_, { svc }) => (await svc.use(Agents).counts()).total,
  render: lives => lives.map(line).join('\n') || 'no agent has run here yet',
})

export const identityJournal = operation({
  name: 'identity.journal',
  summary: "Show an agent's journal",
  description: 'Returns the notes that the agent wrote for itself; when they are long, only the end.',
  input: z.object({
    id,
    bytes: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(100_000)
      .describe('Maximum number of bytes (1 to 1000000), counted from the end'),
  }),
  output: Journal,
  http: { method: 'GET', path: '/agents/{id}/journal' },
  cli: { usage: 'journal <id>' },
  mcp: true,
  errors,
  async run({ id, bytes }, { svc }) {
    const { agent_id } = await find(svc, id)
    return {
      agent_id,
      ...((await svc.use(OwnJournals).read(agent_id, bytes)) ?? { text: '', bytes: 0, modified_at: null }),
    }
  },
  render: ({ text }) => text.trim() || 'nothing written yet',
})

export const identityJournals = operation({
  name: 'identity.journals',
  summary: 'List journals, last written first',
  description: 'Includes the size of each journal and the time of its last change.',
  input: Page,
  output: z.array(JournalHead),
  http: { method: 'GET', path: '/journals' },
  cli: { usage: 'journals', short: { limit: 'n' } },
  mcp: true,
  run: async (page, { svc }) => pageOf(await svc.use(OwnJournals).list(), page),
  count: async (_, { svc }) => (await svc.use(OwnJournals).list()).length,
})

export const identityOperations = [identityGet, identityBiography, identityLives, identityJournal, identityJournals]

function line(life: z.output<typeof Life>): string {
  const { agent_id, display_name, status, cycles_lived, goals_completed, goals_unconfirmed, goals_abandoned } = life
  const unconfirmed = goals_unconfirmed > 0 ? ` (${goals_unconfirmed} not confirmed)` : ''
  return `${agent_id}  ${display_name}  ${status}  ${pluralize(cycles_lived, 'cycle')}  ${pluralize(goals_completed, 'goal')} completed${unconfirmed}, ${goals_abandoned} abandoned`
}
