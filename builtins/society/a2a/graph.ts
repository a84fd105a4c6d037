import { operation, z } from '#kernel'
import { AMONG, Instant, isoTime, jsonList, Store } from '#platform/store/contract'
import { MESSAGE_TYPES, MessageType, OPERATOR } from './contract.ts'

/** Maximum number of messages counted, newest first, so that the query by index stays fast. */
const COUNTED = 20_000
const DAY_MS = 86_400_000

const Edge = z.object({
  from_agent: z.string().describe("An agent's id, or `operator`"),
  to_agent: z.string().describe("An agent's id, or `operator`"),
  messages: z.int(),
  types: z.partialRecord(MessageType, z.int()).describe('Number of messages by type'),
  last_at: z.iso.datetime(),
})
const Node = z.object({
  agent_id: z.string().describe("An agent's id, or `operator`"),
  name: z.string(),
  alive: z.boolean(),
  sent: z.int(),
  received: z.int(),
})

/** Graph of the messages between agents. */
export const MessageGraph = z
  .object({
    since: z.iso.datetime(),
    messages: z.int().describe('Number of messages counted'),
    complete: z.boolean().describe(`Whether all messages were counted; if false, only the newest ${COUNTED} were`),
    agents: z.array(Node).describe('Agents, those with the most messages first'),
    edges: z.array(Edge).describe('Sender and recipient pairs within `agents`, those with the most messages first'),
    left_out: z.int().describe('Number of further agents with messages, beyond `limit`'),
  })
  .meta({ id: 'MessageGraph' })
export type MessageGraph = z.infer<typeof MessageGraph>

interface CountRow {
  from_agent: string
  to_agent: string
  type: MessageType
  n: number
  last_at: number
}

/** Counts messages by sender, recipient and type. */
function countMessagesSince(store: Store, since: number): Promise<CountRow[]> {
  return store.all<CountRow>(
    `SELECT from_agent, to_agent, type, count(*) AS n, max(created_at) AS last_at FROM
       (SELECT from_agent, coalesce(to_agent, '${OPERATOR}') AS to_agent, type, created_at FROM a2a_messages
        WHERE created_at >= ? ORDER BY created_at DESC LIMIT ${COUNTED}) m
     GROUP BY from_agent, to_agent, type`,
    [since],
  )
}

interface NamedRow {
  agent_id: string
  name: string
  died_at: number | null
}

function namesOf(store: Store, ids: readonly string[]): Promise<NamedRow[]> {
  return store.all<NamedRow>(`SELECT agent_id, name, died_at FROM agents_view WHERE agent_id ${AMONG}`, [jsonList(ids)])
}

/** Operation that returns the graph of messages between agents, for a dashboard. */
export const messagesGraph = operation({
  name: 'messages.graph',
  summary: 'Show the graph of messages between agents',
  description: 'Returns the number and types of messages for each pair of sender and recipient.',
  input: z.object({
    since: Instant.optional().describe('Messages since this time (default: a day ago)'),
    limit: z.int().min(1).max(500).default(200).describe('Maximum number of agents (1 to 500)'),
  }),
  output: MessageGraph,
  http: { method: 'GET', path: '/messages/graph' },
  async run({ since, limit }, { svc }) {
    const store = svc.use(Store)
    const from = since === undefined ? svc.clock.ms() - DAY_MS : Date.parse(since)
    const rows = await countMessagesSince(store, from)
    const talkers = talkersOf(rows)
    const shown = talkers.slice(0, limit)
    const ids = new Set(shown.map(({ agent_id }) => agent_id))
    const known = new Map((await namesOf(store, [...ids])).map(row => [row.agent_id, row]))
    const messages = rows.reduce((sum, { n }) => sum + n, 0)
    return {
      since: isoTime(from),
      messages,
      complete: messages < COUNTED,
      left_out: talkers.length - shown.length,
      agents: shown.map(({ agent_id, ...counts }) => ({
        agent_id,
        name: known.get(agent_id)?.name ?? agent_id,
        alive: agent_id === OPERATOR || known.get(agent_id)?.died_at === null,
        ...counts,
      })),
      edges: edgesOf(rows).filter(({ from_agent, to_agent }) => ids.has(from_agent) && ids.has(to_agent)),
    }
  },
})

function talkersOf(rows: readonly CountRow[]): { agent_id: string; sent: number; received: number }[] {
  const talkers = new Map<string, { agent_id: string; sent: number; received: number }>()
  const of = (agent_id: string) => {
    const had = talkers.get(agent_id) ?? { agent_id, sent: 0, received: 0 }
    talkers.set(agent_id, had)
    return had
  }
  for (const { from_agent, to_agent, n } of rows) {
    of(from_agent).sent += n
    of(to_agent).received += n
  }
  const total = ({ sent, received }: { sent: number; received: number }) => sent + received
  return [...talkers.values()].sort((a, b) => total(b) - total(a) || (a.agent_id < b.agent_id ? -1 : 1))
}

function edgesOf(rows: readonly CountRow[]): MessageGraph['edges'] {
  const edges = new Map<string, { edge: MessageGraph['edges'][number]; last: number }>()
  for (const { from_agent, to_agent, type, n, last_at } of rows) {
    const key = `${from_agent}\n${to_agent}`
    const had = edges.get(key) ?? { edge: { from_agent, to_agent, messages: 0, types: {}, last_at: '' }, last: 0 }
    had.edge.messages += n
    // Types from a newer version are counted without a name.
    if (MESSAGE_TYPES.includes(type)) had.edge.types[type] = n
    had.last = Math.max(had.last, last_at)
    edges.set(key, had)
  }
  return [...edges.values()]
    .map(({ edge, last }) => ({ ...edge, last_at: isoTime(last) }))
    .sort((a, b) => b.messages - a.messages || (a.last_at < b.last_at ? 1 : -1))
}
